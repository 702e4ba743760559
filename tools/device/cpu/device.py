"""The cpu device: the same `.cu`, compiled for the host and really run; counters instead of times."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ....benchmark.contract import Precision
from ....benchmark.scoring import geometric_mean, weighted_speedup
from ....benchmark.task import Case, CaseSet, Task
from ...records import Build, Candidate, CaseEvidence, CaseGain, EstimatedSpeedup, Interval, Profile
from ..cuda.nvcc import nvcc_check
from ..cuda.toolkit import find_nvcc
from ..gpu_model import DEFAULT_GPU, GpuModel, gpu_model
from ..port import DeviceInfo, Sampler, Unsupported
from ..runner.client import Limits, RunnerProcess
from ..runner.host_program import build_host_program
from .build import host_build, read_source, trace_library
from .cost import call_cost_us, floor_us
from .counters import Counters, read_counters, with_registers
from .profile import profile_of
from .runner import CpuRunner, with_lines
from .toolchain import INCLUDE, find_compiler, header_files, machine_flags, runtime_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHECK_OPERATIONS: Final = 40_000_000
"""Operations of the naive algorithm up to which a case is checked: a naive kernel does about 1e8 a second."""
_TRACE_OPERATIONS: Final = 8_000_000
"""The same for tracing all blocks, which is several times slower."""
_SAMPLE_OPERATIONS: Final = 1_000_000_000
"""The same for tracing sampled blocks."""
_ALL_BLOCKS_ACCESSES: Final = 50_000_000
"""A launch that would access memory more often runs its sampled blocks alone while it is counted."""
_TIMED_CASES: Final = 3
_VERIFY_LIMITS: Final = Limits(start_s=30, call_s=60, cpu_s=900, memory_bytes=24 << 30)
_TRACE_LIMITS: Final = Limits(start_s=30, call_s=240, cpu_s=1800, memory_bytes=48 << 30)
_SAMPLE_LIMITS: Final = Limits(start_s=30, call_s=60, cpu_s=900, memory_bytes=48 << 30)
"""Short: a block that waits for one that does not run waits for ever."""
_SAMPLED_BLOCKS: Final = 64
_SANITIZED_BLOCKS: Final = 4096


class CpuDevice:
    """No GPU: candidates run on the CPU, cost is estimated for a GPU model (implements `port.Device`).

    `use_nvcc=False` leaves nvcc out even where there is one; then builds say `checked_with_nvcc=False`.
    """

    name: Literal["cuda", "cpu"] = "cpu"

    def __init__(self, gpu: str = DEFAULT_GPU, *, use_nvcc: bool = True, root: Path | None = None) -> None:
        self.gpu: GpuModel = gpu_model(gpu)
        self._use_nvcc = use_nvcc
        self._estimates: dict[tuple[str, str], float] = {}
        self._root = root.absolute() if root else None

    @cached_property
    def environment(self) -> dict[str, str]:
        """What a candidate's process is told of the GPU that the device stands for."""
        gpu, major = self.gpu, int(self.gpu.arch[3:]) // 10
        fields = (
            gpu.name, f"{major}.{int(gpu.arch[3:]) % 10}", gpu.multiprocessors, gpu.l2_bytes,
            gpu.shared_bytes_per_block, gpu.threads_per_sm, gpu.blocks_per_sm, int(gpu.sm_clock_mhz * 1000),
            gpu.l1_bytes_per_sm,
        )  # fmt: skip
        return {"CPUSIM_GPU": ";".join(map(str, fields))}

    @cached_property
    def host_program(self) -> Path:
        """The runner, linked to the runtime library that candidates share with it."""
        runtime = runtime_library(self._root)
        flags = [
            "-O1", "-w", "-D__CUDACC__", f"-I{INCLUDE}", *machine_flags(), f"-L{runtime.parent}", "-lcpusim",
            f"-Wl,-rpath,{runtime.parent}",
        ]  # fmt: skip
        return build_host_program([find_compiler().path], flags, depends=header_files(), root=self._root)

    def info(self) -> DeviceInfo:
        """Describe the host compiler, and nvcc if there is one.

        Raises:
            DeviceUnavailable: there is no C++ compiler.
        """
        toolkit = find_nvcc() if self._use_nvcc else None
        notes = ["kernels run on the CPU; times are a cost model's estimates for the GPU named here"]
        if toolkit is None:
            notes.append(
                "not checked with nvcc: there is none (pip install 'cudamaster[cuda]' brings it, no GPU needed)"
            )
        return DeviceInfo(
            name="cpu", gpu=self.gpu.name, arch=self.gpu.arch, multiprocessors=self.gpu.multiprocessors,
            compiler=find_compiler().version, nvcc=toolkit.version if toolkit else "", notes=tuple(notes),
        )  # fmt: skip

    def build(self, candidate: Candidate, task: Task, precision: Precision) -> Build:
        """Compile a candidate to a shared object, cached by content; with nvcc first, where there is one."""
        checked = nvcc_check(candidate, task.contract, self.gpu.arch, self._root) if self._use_nvcc else None
        entries = (task.contract.entry, task.contract.workspace_entry)
        return host_build(candidate, entries, checked=checked, root=self._root)

    def open(self, build: Build, task: Task, precision: Precision) -> CpuRunner:
        """Start a process with this library loaded."""
        return CpuRunner(
            self.host_program, Path(build.library), task, precision, limits=_VERIFY_LIMITS,
            environment=self.environment, builds=self._root,
        )  # fmt: skip

    def timed_cases(self, task: Task) -> tuple[Case, ...]:
        """Return up to three paper cases that a CPU can trace, spread over the sizes; at least the largest small case.

        Where fewer than three are cheap, the next larger one joins them: its estimate comes from sampled blocks alone.
        """
        paper = sorted(task.in_set(CaseSet.PAPER), key=lambda c: task.complexity(c.sizes))
        cheap = [c for c in paper if task.complexity(c.sizes) <= _TRACE_OPERATIONS]
        dear = [c for c in paper if _TRACE_OPERATIONS < task.complexity(c.sizes) <= _SAMPLE_OPERATIONS]
        affordable = cheap if len(cheap) >= _TIMED_CASES else [*cheap, *dear[:1]]
        if not affordable:
            small = sorted(task.in_set(CaseSet.SMALL), key=lambda c: task.complexity(c.sizes))
            affordable = [c for c in small if task.complexity(c.sizes) <= _TRACE_OPERATIONS][-1:] or small[:1]
        if len(affordable) <= _TIMED_CASES:
            return tuple(affordable)
        last = len(affordable) - 1
        return tuple(affordable[round(i * last / (_TIMED_CASES - 1))] for i in range(_TIMED_CASES))

    def checked_cases(self, task: Task) -> tuple[Case, ...]:
        """Return the small and hidden cases that a CPU can afford, and the timed ones likewise, cheapest first."""
        cases = {c.name: c for c in (*task.in_set(CaseSet.SMALL, CaseSet.HIDDEN), *self.timed_cases(task))}
        affordable = [c for c in cases.values() if task.complexity(c.sizes) <= _CHECK_OPERATIONS]
        return tuple(sorted(affordable, key=lambda c: task.complexity(c.sizes)))

    def compare(
        self,
        baseline: Build,
        candidate: Build,
        task: Task,
        precision: Precision,
        cases: Sequence[Case],
        to_beat: float | None = None,
    ) -> EstimatedSpeedup:
        """Estimate baseline and candidate at these cases with the cost model.

        Raises:
            Unsupported: a call failed, so there is nothing to estimate.
        """
        gains = []
        for case in cases:
            first, second = (self._estimate_us(build, task, precision, case) for build in (baseline, candidate))
            ratio = first / second
            least = self._floor_us(task, precision, case) + self.gpu.empty_launch_us
            gains.append(
                CaseGain(
                    case=case.name, set=case.set, complexity=task.complexity(case.sizes), baseline_us=first,
                    candidate_us=second, ratio=Interval(value=ratio, low=ratio, high=ratio), floor_us=least,
                    efficiency=min(1.0, least / second),
                )
            )  # fmt: skip
        ratios = [gain.ratio.value for gain in gains]
        return EstimatedSpeedup(
            method=f"cost model of an {self.gpu.name} from counters", cases=tuple(gains),
            geomean=geometric_mean(ratios),
            weighted=weighted_speedup([gain.complexity for gain in gains], ratios),
            efficiency=geometric_mean([gain.efficiency or 0.0 for gain in gains]),
        )  # fmt: skip

    def sampling(self, builds: Sequence[Build], task: Task, precision: Precision) -> AbstractContextManager[Sampler]:
        """Refuse: the cost model does not tell such versions of a kernel apart.

        Raises:
            Unsupported: always.
        """
        raise Unsupported("times are estimated on the cpu device, which is too rough to choose a constant by")

    def _floor_us(self, task: Task, precision: Precision, case: Case) -> float:
        return floor_us(
            task.min_bytes(case.sizes, precision), task.min_flops(case.sizes), self.gpu,
            tensor_cores=task.tensor_cores and precision is Precision.BF16,
        )  # fmt: skip

    def _estimate_us(self, build: Build, task: Task, precision: Precision, case: Case) -> float:
        """Estimate one call; what was estimated before (a baseline, mostly) is not counted again."""
        key = build.library, case.name
        if key not in self._estimates:
            arrays = self._arrays(task, precision, case, secrets.randbits(63))
            counters = self.count(build, task, precision, case, arrays)
            self._estimates[key] = call_cost_us(counters, self.gpu, floor_us=self._floor_us(task, precision, case))
        return self._estimates[key]

    def profile(self, build: Build, task: Task, precision: Precision, case: Case) -> Profile:
        """Count what the launches of one call do.

        Raises:
            Unsupported: the call failed, so there is nothing to count.
        """
        arrays = self._arrays(task, precision, case, secrets.randbits(63))
        counters = self.count(build, task, precision, case, arrays)
        return profile_of(counters, self.gpu, case.name, read_source(build).kernels)

    def sanitize(
        self, build: Build, task: Task, precision: Precision, cases: Sequence[Case]
    ) -> tuple[CaseEvidence, ...]:
        """Run one call at each case, every access traced: races, bounds, uninitialised memory, barriers and masks."""
        return tuple(found for case in cases for found in self._sanitize(build, task, precision, case))

    def _sanitize(self, build: Build, task: Task, precision: Precision, case: Case) -> tuple[CaseEvidence, ...]:
        seed = secrets.randbits(63)
        arrays = self._arrays(task, precision, case, seed)
        library = trace_library(build, self._root)
        with self._trace(library, task, precision, _SANITIZED_BLOCKS) as runner:
            runner.load_case(case, arrays)
            runner.reset_counters()
            result = runner.call()
            counted = runner.counters()
            found = [f.sentence for f in read_counters(counted, library).findings] if counted else []
            if result.status != "ok":
                found.append(f"{result.status}: {with_lines(result.message, library)}")
        return tuple(
            CaseEvidence(case=case.name, set=case.set, seed=seed, ok=False, reason=sentence) for sentence in found
        )

    def count(
        self, build: Build, task: Task, precision: Precision, case: Case, arrays: Mapping[str, NDArray[Any]]
    ) -> Counters:
        """Run one call of the instrumented library and return its counters.

        Of a dear launch only the sampled blocks run. A call that fails then, since its kernels need what the other
        blocks leave behind, runs in full.

        Raises:
            Unsupported: the call failed.
        """
        library = trace_library(build, self._root)
        message = ""
        for sampled_above in (_ALL_BLOCKS_ACCESSES, None):
            with self._trace(library, task, precision, _SAMPLED_BLOCKS, sampled_above) as runner:
                runner.load_case(case, arrays)
                runner.reset_counters()
                result = runner.call()
                if result.status == "ok":
                    counters = read_counters(runner.counters(), library, read_source(build))
                    return with_registers(counters, build.resources)
                message = f"{result.status}: {with_lines(result.message, library)}"
        raise Unsupported(f"nothing to count at {case.name}: the call ended with {message}")

    def _trace(
        self, library: Path, task: Task, precision: Precision, blocks: int, sampled_above: int | None = None
    ) -> RunnerProcess:
        environment = {"CPUSIM_SAMPLE_BLOCKS": str(blocks)}
        if sampled_above is not None:
            environment["CPUSIM_SAMPLED_ABOVE"] = str(sampled_above)
        limits = _TRACE_LIMITS if sampled_above is None else _SAMPLE_LIMITS
        return RunnerProcess(
            self.host_program, library, task, precision, limits=limits, guard_bytes=0, builds=self._root,
            environment=self.environment | environment,
        )  # fmt: skip

    def _arrays(self, task: Task, precision: Precision, case: Case, seed: int) -> dict[str, NDArray[Any]]:
        from ....benchmark.inputs import draw
        from ....benchmark.storage import stored

        return stored(draw(task, case, precision, seed), task.contract, precision)
