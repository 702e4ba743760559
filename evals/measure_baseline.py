"""One piece of work on the baselines: cases of a unit judged and timed, by itself or by libraries, or a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

from ..benchmark.contract import Precision
from ..benchmark.inputs import draw_stored
from ..benchmark.registry import load_task
from ..benchmark.task import Case, CaseSet, Task
from ..tools.device.cuda.device import CudaDevice
from ..tools.device.cuda.gpu_lock import gpu_lock
from ..tools.device.cuda.ncu import profile_with_ncu
from ..tools.device.cuda.nvcc import nvcc_build
from ..tools.device.gpu_model import GpuModel
from ..tools.device.port import CallFailed, CallResult, DeviceUnavailable, Runner, Unsupported
from ..tools.device.runner.client import Limits, RunnerFault, RunnerProcess
from ..tools.device.select import get_device
from ..tools.judge.check_case import Step, check_case
from ..tools.judge.poison import PATTERNS
from ..tools.judge.reference import instance
from ..tools.judge.seeds import fresh_seed
from ..tools.ncu import named_case, profiled_case
from ..tools.profile.diagnosis import diagnose_subject, subject_of
from ..tools.profile.roofline import floor
from ..tools.records import Build, Candidate, Diagnosis, Profile, Record, Status
from .baseline_records import Failed, ProfiledBaseline, TimedCase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LIMITS: Final = Limits(start_s=120, call_s=60)
_ONE_CALL: Final = (Step(0, True, PATTERNS[0], ""),)
_WAKE_CALLS: Final = 100
"""Empty calls before timing: the GPU's clocks went down while data were made."""
_DEAR_US: Final = 50_000
"""Above this a single timed call does: its noise is far below its time."""
_CALLS: Final = 11


class _Sparing:
    """A runner that holds the GPU while it calls, but not while the judge draws, copies and compares."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.load_case = runner.load_case

    def call(self, poison: int = 0xFF, positions: Mapping[str, NDArray[np.int64]] | None = None) -> CallResult:
        """As the port says."""
        with self._runner.hold():
            return self._runner.call(poison, positions)


@dataclass(frozen=True)
class _Bench:
    """One unit on one GPU."""

    device: CudaDevice
    task: Task
    precision: Precision

    @property
    def unit(self) -> str:
        return f"{self.task.name}-{self.precision}"

    def hold(self) -> AbstractContextManager[None]:
        return gpu_lock(self.device.facts.uuid, f"measuring {self.unit}", wait_s=3600)

    def start(self, source: str) -> RunnerProcess:
        """Build and load a source of the contract.

        Raises:
            Unsupported: it does not build.
        """
        build = self.device.build(Candidate(source=source), self.task, self.precision)
        if not build.ok:
            raise Unsupported(f"it does not build: {build.log[-600:]}")
        return RunnerProcess(
            self.device.host_program, Path(build.library), self.task, self.precision, limits=_LIMITS,
            environment=self.device.environment, hold=self.hold,
        )  # fmt: skip

    def judged(self, runner: Runner, case: Case, arm: str) -> TimedCase:
        """Judge one call of a case."""
        seed = fresh_seed()
        known: dict[str, Any] = {"unit": self.unit, "arm": arm, "case": case.name, "set": case.set.value}
        try:
            instance(self.task, case, self.precision, seed)  # drawn while others have the GPU
            sparing = cast("Runner", _Sparing(runner))
            outcome = check_case(sparing, self.task, self.precision, case, (seed, seed), _ONE_CALL)
        except (Unsupported, RunnerFault) as error:
            return TimedCase(**known, status=Status.UNSUPPORTED, reason=str(error)[:300])
        found = outcome.evidence
        bound = floor(self.task, self.precision, case, self.device.gpu).time_us
        known |= {"worst_ratio": found.worst_ratio, "floor_us": bound}
        return TimedCase(**known, status=outcome.status.value, reason=found.reason[:300])


def time_baseline(task: str, precision: str, set_: CaseSet, cases: Sequence[str], control: Any = None) -> list[Record]:
    """Judge and time a unit's baseline at these cases."""
    bench = _bench(task, precision)
    return _in_runner(bench, bench.task.source(bench.precision), "", _named(bench.task, set_, cases))


def time_libraries(task: str, precision: str, set_: CaseSet, cases: Sequence[str], control: Any = None) -> list[Record]:
    """Judge and time every library arm of a unit at these cases."""
    from ..benchmark.library.cub import CUB, cub_source
    from ..benchmark.library.registry import arms
    from .library_runner import LibraryRunner

    bench, found = _bench(task, precision), []
    chosen = _named(bench.task, set_, cases)
    if task in CUB:
        found += _in_runner(bench, cub_source(task, bench.precision), CUB[task], chosen)
    for arm in arms(task, bench.precision):
        with LibraryRunner(arm, bench.task, bench.precision, bench.hold) as runner:
            for case in chosen:
                timed = bench.judged(runner, case, arm.name)
                if timed.status == Status.PASS and case.set is not CaseSet.SMALL:
                    with runner.hold():
                        device_us, planned_us = runner.time(_CALLS), runner.time_planned()
                    update = {"time_us": median(device_us), "calls": len(device_us), "planned_us": planned_us}
                    timed = timed.model_copy(update=update)
                found.append(timed)
    return found


def profile_baseline(task: str, precision: str, device: str, control: Any = None) -> list[Record]:
    """Profile and diagnose a unit's baseline at the heaviest case that the device times."""
    from ..tools.diagnose import diagnose
    from ..tools.nvcc import nvcc

    where = {"task": task, "precision": precision}
    source = load_task(task).source(Precision(precision))
    built = answer = nvcc.invoke({"source": source, "device": device, **where})
    try:
        if answer["status"] == "ok":
            profile = _profile(_bench(task, precision), Build.model_validate(built["build"]), device)
            known = {"profile": profile.model_dump(mode="json"), "build": built["build"], "source": source}
            answer = diagnose.invoke({**known, **where})
    except (Unsupported, DeviceUnavailable, CallFailed) as error:
        answer = {"status": type(error).__name__, "reason": str(error)}
    if answer["status"] != "ok":
        reason = f"{answer['status']}: {answer.get('reason', '')[:300]}"
        return [Failed(unit=f"{task}-{precision}", what="profile", reason=reason)]
    diagnosis = Diagnosis.model_validate(answer)
    return [ProfiledBaseline(unit=f"{task}-{precision}", case=profile.case, profile=profile, diagnosis=diagnosis)]


def _profile(bench: _Bench, build: Build, name: str) -> Profile:
    """Profile a build; on a GPU the tool starts while others have it."""
    device = get_device(name)
    case = profiled_case(bench.task, device)
    if not isinstance(device, CudaDevice):
        return device.profile(build, bench.task, bench.precision, case)
    arrays = draw_stored(bench.task, case, bench.precision, fresh_seed())
    with TemporaryDirectory() as folder:
        count = partial(
            profile_with_ncu, device.host_program, build, bench.task, bench.precision, case, arrays,
            gpu=device.facts.gpu, environment=device.environment, folder=Path(folder), hold=bench.hold,
        )  # fmt: skip
        try:
            return count()
        except Unsupported:  # another process may have the counters: once more, when it is this one's turn
            with bench.hold():
                return count()


def diagnosed_anew(profiled: ProfiledBaseline, gpu: GpuModel) -> ProfiledBaseline:
    """Return a recorded profile with what the rules say now; nvcc's resources and the machine code are made again.

    Raises:
        DeviceUnavailable: there is no nvcc.
    """
    name, _, precision = profiled.unit.rpartition("-")
    task = load_task(name)
    source = task.source(Precision(precision))
    build = nvcc_build(Candidate(source=source), task.contract, gpu.arch)
    case = named_case(task, profiled.case)
    subject = subject_of(profiled.profile, build, source, task, Precision(precision), case, gpu)
    return profiled.model_copy(update={"diagnosis": diagnose_subject(subject)})


def _bench(task: str, precision: str) -> _Bench:
    return _Bench(CudaDevice(), load_task(task), Precision(precision))


def _named(task: Task, set_: CaseSet, names: Sequence[str]) -> list[Case]:
    return [case for case in task.in_set(set_) if case.name in names]


def _in_runner(bench: _Bench, source: str, arm: str, cases: Sequence[Case]) -> list[Record]:
    """Judge and time a source with the contract's entries; a process that died is started again."""
    found: list[Record] = []
    left = list(cases)
    try:
        while left:
            with bench.start(source) as runner:
                while left:
                    timed = bench.judged(runner, left.pop(0), arm)
                    if timed.status == Status.PASS and timed.set != CaseSet.SMALL:
                        with runner.hold():
                            samples = list(_cold_us(runner))
                        timed = timed.model_copy(
                            update={"time_us": median(samples) if samples else None, "calls": len(samples)}
                        )
                    found.append(timed)
                    if runner.dead is not None:
                        break
    except (Unsupported, DeviceUnavailable, RunnerFault, OSError) as error:
        found.append(Failed(unit=bench.unit, what=arm or "baseline", reason=f"{type(error).__name__}: {error}"[:300]))
    return found


def _cold_us(runner: RunnerProcess) -> Iterator[float]:
    """Yield cold device times of single calls, microseconds, few where they are long."""
    runner.time("empty", _WAKE_CALLS, 0)
    first = runner.time("cold", 1, 0)
    if isinstance(first, CallResult):
        return
    yield from first.device_us
    if first.device_us[0] < _DEAR_US:
        more = runner.time("cold", 2 if first.device_us[0] > _DEAR_US / 25 else _CALLS - 1, 0)
        if not isinstance(more, CallResult):
            yield from more.device_us
