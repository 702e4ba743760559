"""The cuda device: nvcc builds, a GPU runs, times and profiles."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from ....benchmark.contract import Precision
from ....benchmark.task import Case, CaseSet, Expected, Task
from ...phases import phase
from ...records import Build, Candidate, CaseEvidence, Profile, Speedup
from ..gpu_model import CALIBRATED_FIELDS, GpuModel, calibrated, gpu_model
from ..port import DeviceInfo, Sampler
from ..runner.cache import builds_folder
from ..runner.client import Limits, RunnerProcess
from ..runner.host_program import build_host_program
from ..runner.shared_inputs import SharedInputs, shared
from .calibrate import calibrate
from .gpu_lock import gpu_lock, start_lock
from .ncu import profile_with_ncu
from .nvcc import nvcc_build
from .nvml import driver_version, read_clocks
from .probe import GpuFacts, probe_gpu
from .sample import sampling_on_gpu
from .sanitizer import sanitize_with_compute_sanitizer
from .timing import Runners, compare_on_gpu
from .toolkit import Toolkit, require_nvcc

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HERE: Final = Path(__file__).parent
_PASSED_ON: Final = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_LIMITS: Final = Limits(start_s=60, call_s=20)


class CudaDevice:
    """An NVIDIA GPU with nvcc (implements `port.Device`). Cheap to construct; the GPU is asked when first needed.

    Methods raise `DeviceUnavailable` where this machine has no GPU or no nvcc; the message says what to do.
    """

    name: Literal["cuda", "cpu"] = "cuda"

    def __init__(self, home: Path | None = None) -> None:
        self._given_home = home
        self._profiles: dict[tuple[str, str, Precision, str], Profile] = {}

    @property
    def _home(self) -> Path:
        return self._given_home or builds_folder().parent

    @cached_property
    def facts(self) -> GpuFacts:
        """What the GPU says of itself, after a real launch."""
        return probe_gpu()

    @cached_property
    def toolkit(self) -> Toolkit:
        """The CUDA toolkit in use."""
        return require_nvcc()

    @property
    def gpu(self) -> GpuModel:
        """Peak rates of this GPU: calibrated where `doctor --calibrate` ran, else from the datasheet."""
        model = gpu_model(self.facts.gpu)
        if model.note:  # not listed by name: the architecture is the better guess
            model = gpu_model(self.facts.arch)
        update = {"multiprocessors": self.facts.multiprocessors, "l2_bytes": self.facts.l2_bytes}
        return calibrated(model.model_copy(update=update), self._home, self.facts.gpu)

    @cached_property
    def environment(self) -> dict[str, str]:
        """What a candidate's process gets of the environment: nothing but what the driver needs."""
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {**kept, "CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}

    @property
    def host_program(self) -> Path:
        """The runner, with timing, linked to the CUDA runtime statically and read-only after start."""
        timing = _HERE / "timing.cu"
        arch = self.facts.arch
        compiler = [str(self.toolkit.nvcc), f"-arch={arch}", "-DWITH_TIMING", "-cudart=static"]
        flags = [str(timing), "-Xlinker=-z,relro,-z,now", *self.toolkit.library_flags]
        return build_host_program(compiler, flags, depends=[timing])

    def info(self) -> DeviceInfo:
        """Describe GPU, driver and toolkit."""
        facts, version = self.facts, f"nvcc {self.toolkit.version}"
        notes = [note] if (note := self.gpu.note) else []
        clocks = read_clocks(facts.uuid)
        if clocks is None:
            notes.append("NVML can't be asked: clocks and throttling are not recorded (pip install nvidia-ml-py)")
        return DeviceInfo(
            name="cuda", gpu=facts.gpu, arch=facts.arch, multiprocessors=facts.multiprocessors,
            driver=driver_version() or f"CUDA {facts.driver_cuda}", toolkit=self.toolkit.version, compiler=version,
            nvcc=self.toolkit.version, rates={name: getattr(self.gpu, name) for name in CALIBRATED_FIELDS},
            notes=tuple(notes),
        )  # fmt: skip

    def environments(self) -> tuple[dict[str, str], ...]:
        """Return what a process finds set that works on one GPU alone: one environment for each visible GPU.

        GPUs of another name than the first are left out: one suite, one kind of GPU.
        """
        if len(alike := self.facts.alike) < 2:
            return ({},)  # whatever is visible, a part of a GPU too
        return tuple({"CUDA_VISIBLE_DEVICES": f"GPU-{UUID(uuid)}"} for uuid in alike)

    def build(self, candidate: Candidate, task: Task, precision: Precision) -> Build:
        """Compile a candidate to a shared object, cached by content. Never raises for a bad candidate."""
        with phase("build"):
            return nvcc_build(candidate, task.contract, self.facts.arch, toolkit=self.toolkit)

    def open(self, build: Build, task: Task, precision: Precision) -> RunnerProcess:
        """Start a process with this library loaded. Of other processes' timings that disturbs a call at most."""
        with phase("start"), start_lock(self.facts.uuid):
            return RunnerProcess(
                self.host_program, Path(build.library), task, precision, limits=_LIMITS, environment=self.environment,
                hold=lambda: gpu_lock(self.facts.uuid, f"checking {task.name}-{precision}"),
            )  # fmt: skip

    def timed_cases(self, task: Task) -> tuple[Case, ...]:
        """Return the paper set."""
        return task.in_set(CaseSet.PAPER)

    def checked_cases(self, task: Task) -> tuple[Case, ...]:
        """Return every small, paper and hidden case, cheapest first: a timed shape is a checked shape."""
        cases = task.in_set(CaseSet.SMALL, CaseSet.PAPER, CaseSet.HIDDEN)
        return tuple(sorted(cases, key=lambda case: task.complexity(case.sizes)))

    def compare(
        self,
        baseline: Build,
        candidate: Build,
        task: Task,
        precision: Precision,
        cases: Sequence[Case],
        to_beat: float | None = None,
    ) -> Speedup:
        """Time baseline and candidate, in pairs of processes that take turns; a pair is timed under the GPU's lock.

        With `to_beat`, a gain, it ends as soon as it is known whether the candidate gains more.

        Raises:
            CallFailed: a call failed.
        """
        builds = {"baseline": baseline, "candidate": candidate}
        with phase("data"):  # before the GPU is held
            data = [timed_data(task, precision, case) for case in cases]
        readings = []

        def sm_clock_mhz(runners: Runners) -> float | None:
            clocks = read_clocks(self.facts.uuid, (os.getpid(), *(runner.pid for runner in runners.values())))
            if clocks is None:
                return None
            readings.append(clocks)
            return float(clocks.sm_mhz)

        with phase("time"):
            speedup = compare_on_gpu(
                lambda side: self.open(builds[side], task, precision), task, precision, data, self.gpu, sm_clock_mhz,
                to_beat, hold=lambda: gpu_lock(self.facts.uuid, f"timing {task.name}-{precision}"),
            )  # fmt: skip
        notes = list(speedup.notes)
        if slowed := sorted({reason for reading in readings for reason in reading.throttles}):
            notes.append(f"clocks were held back: {', '.join(slowed)}")
        if others := sorted({pid for reading in readings for pid in reading.other_processes}):
            notes.append(f"other processes were on the GPU: {', '.join(map(str, others))}")
        if readings:
            mhz = sorted(reading.sm_mhz for reading in readings)
            notes.append(f"SM clock {mhz[0]} to {mhz[-1]} MHz")
        return speedup.model_copy(update={"notes": tuple(notes)})

    def sampling(self, builds: Sequence[Build], task: Task, precision: Precision) -> AbstractContextManager[Sampler]:
        """As the port says, in a process each, under the GPU's lock."""
        with phase("data"):
            data = [(case, shared(case_arrays(task, precision, case))) for case in self.timed_cases(task)]
        return sampling_on_gpu(
            lambda number: self.open(builds[number], task, precision), len(builds), data,
            hold=lambda: gpu_lock(self.facts.uuid, f"sampling {task.name}-{precision}"),
        )  # fmt: skip

    def profile(self, build: Build, task: Task, precision: Precision, case: Case) -> Profile:
        """Count with Nsight Compute what the kernels of one call do; of the same build at the same case only once.

        Raises:
            Unsupported: no ncu, or it can't read the counters here; the message says why and what to do.
            CallFailed: the call failed.
        """
        key = (build.library, task.sha256, precision, case.name)
        if key not in self._profiles:
            self._profiles[key] = self._profile(build, task, precision, case)
        return self._profiles[key]

    def _profile(self, build: Build, task: Task, precision: Precision, case: Case) -> Profile:
        arrays = case_arrays(task, precision, case)
        with phase("profile"), tempfile.TemporaryDirectory() as folder:
            return profile_with_ncu(
                self.host_program, build, task, precision, case, arrays, gpu=self.facts.gpu,
                environment=self.environment, folder=Path(folder),
                hold=lambda: gpu_lock(self.facts.uuid, f"profiling {task.name}-{precision}"),
                start=lambda: start_lock(self.facts.uuid),
            )  # fmt: skip

    def sanitize(
        self, build: Build, task: Task, precision: Precision, cases: Sequence[Case]
    ) -> tuple[CaseEvidence, ...]:
        """Run one call at each case under compute-sanitizer's memcheck, racecheck, initcheck and synccheck.

        Raises:
            Unsupported: there is no compute-sanitizer, or it refuses this GPU.
        """
        seed = secrets.randbits(63)
        data = [(case, case_arrays(task, precision, case, seed)) for case in cases]
        with tempfile.TemporaryDirectory() as folder:
            return sanitize_with_compute_sanitizer(
                self.host_program, build, task, precision, data, seed=seed, environment=self.environment,
                folder=Path(folder), hold=lambda: gpu_lock(self.facts.uuid, f"sanitizing {task.name}-{precision}"),
            )  # fmt: skip

    def calibrate(self) -> dict[str, Any]:
        """Measure this GPU's own rates and keep them in the home folder."""
        return calibrate(self.facts, self.toolkit, self.host_program, self.environment, self._home)


def timed_data(task: Task, precision: Precision, case: Case) -> tuple[Case, SharedInputs, Mapping[str, Expected]]:
    """Return a case with its data and the truth: those of the last check if they are still there."""
    from ...judge.reference import instance, kept_instance
    from ...judge.seeds import derive, pool_seed
    from ...judge.stages import costly

    made = kept_instance(task, case, precision)
    if made is None:
        seed = derive(pool_seed(), case.set, case.name, 0)
        made = instance(task, case, precision, seed, keep=costly(task, case))
    return case, shared(made.memory), made.expected


def case_arrays(task: Task, precision: Precision, case: Case, seed: int | None = None) -> Mapping[str, NDArray[Any]]:
    """Return a case's input arrays, as they lie in memory: drawn from the seed; without one any.

    To draw a gigabyte costs more than to time it, so without a seed those of the last check are taken if still there.
    """
    from ....benchmark.inputs import draw_stored
    from ...judge.reference import kept_instance

    if seed is None and (kept := kept_instance(task, case, precision)):
        return kept.memory
    return draw_stored(task, case, precision, secrets.randbits(63) if seed is None else seed)
