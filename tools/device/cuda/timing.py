"""Times baseline against candidate: two processes, taking turns at the GPU, and says what looks wrong."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final, Literal

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...profile.roofline import floor
from ...records import CaseGain, Speedup, Timing
from ..gpu_model import GpuModel
from ..port import CallFailed, CallResult
from ..runner.client import RunnerProcess, TimedCalls
from .intervals import log_mean, mean_interval, median_interval, ratio_interval, trimmed_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUSPECT_BELOW_FLOOR: Final = 0.9
"""A cold time below this part of the floor can't be true."""
NOISY_HALF_WIDTH: Final = 0.05
"""A ratio whose 95 % interval reaches further than this share of it to a side is noted."""
PAIRS: Final = 8
FEW_PAIRS: Final = 4
"""Pairs of fresh processes: each draws its own launch overhead and places in memory. Few where they are dear."""
_DEAR_US: Final = 10_000
_DEAR_BYTES: Final = 512 << 20
_OFFSET_SHARE: Final = 0.1
"""By so much of the mean an empty launch may differ in one process. On an H200 it differs by up to 0.07."""
_EVENT_TICK_US: Final = 0.5
"""Resolution of events as CUDA documents it; a GPU whose samples show a finer step has that."""
_EMPTY_CALLS: Final = 24
_SAMPLED_OUTPUTS: Final = 1 << 16
"""Elements per output that are compared after timing."""

Side = Literal["baseline", "candidate"]
Runners = dict[Side, RunnerProcess]
SIDES: Final[tuple[Side, Side]] = ("baseline", "candidate")


@dataclass(frozen=True)
class Schedule:
    """How often a case is timed in each pair of processes: turns for each side, calls per turn."""

    turns: int
    calls: int


def schedule(baseline_us: float) -> Schedule:
    """Decide from the baseline's time alone, so that a candidate can't choose how often it is measured."""
    if baseline_us > 2_000:
        return Schedule(1, 1)
    if baseline_us > 200:
        return Schedule(2, 3)
    return Schedule(2, 12)


def pairs(times: Sequence[CaseTimes], task: Task, precision: Precision) -> int:
    """Decide how many pairs of processes to run, from the baseline's times in the first and the arrays' sizes."""
    bytes_ = sum(task.contract.bytes_of(a, precision, one.case.sizes) for one in times for a in task.contract.arrays)
    return FEW_PAIRS if sum(one.first_us for one in times) > _DEAR_US or bytes_ > _DEAR_BYTES else PAIRS


@dataclass(frozen=True)
class _Clocks:
    """One call in one process by different clocks, microseconds."""

    claimed_us: float
    queue_us: float
    """Host time to queue it."""
    host_us: float
    driver_us: float


@dataclass
class CaseTimes:
    """What was measured at one case, one entry per process of a side, microseconds."""

    case: Case
    plan: Schedule | None = None
    first_us: float = 0.0
    """The baseline's first cold time, from which the plan comes."""
    cold: dict[Side, list[tuple[float, ...]]] = field(default_factory=lambda: {side: [] for side in SIDES})
    empty: dict[Side, list[tuple[float, ...]]] = field(default_factory=lambda: {side: [] for side in SIDES})
    """An empty launch, timed in the same process in the same way."""
    warm: dict[Side, tuple[float, ...]] = field(default_factory=dict)
    wall: dict[Side, list[float]] = field(default_factory=lambda: {side: [] for side in SIDES})
    clocks: list[_Clocks] = field(default_factory=list)
    """The candidate's calls by three clocks."""
    notes: list[str] = field(default_factory=list)


def _must(result: TimedCalls | CallResult, side: Side) -> TimedCalls:
    if isinstance(result, CallResult):
        raise CallFailed(result, side)
    return result


def time_case(
    runners: Runners, task: Task, precision: Precision, times: CaseTimes, arrays: dict[str, NDArray[Any]], pair: int
) -> None:
    """Time both libraries at one case in one pair of processes and add to `times`; the caller holds the GPU's lock.

    Raises:
        CallFailed: a call failed.
    """
    case = times.case
    positions = _positions(task, case)
    for runner in runners.values():
        runner.load_case(case, arrays)
    checked = runners["candidate"].call(positions=positions)
    if checked.status != "ok":
        raise CallFailed(checked, "candidate")
    times.notes += [f"suspect: {what}, at {case.name}" for what in checked.damage]
    if times.plan is None:
        # Data may just have been made on the host: the GPU's clocks have gone down meanwhile.
        _must(runners["baseline"].time("empty", 200), "baseline")
        times.first_us = median(_must(runners["baseline"].time("cold", 1, 0), "baseline").device_us)
        times.plan = schedule(times.first_us)
    plan = times.plan
    walls = 1 if plan.calls < 4 else 2
    empties = {side: _must(runner.time("empty", _EMPTY_CALLS, walls), side) for side, runner in runners.items()}
    turns: dict[Side, list[TimedCalls]] = {side: [] for side in SIDES}
    for turn in range(plan.turns):
        for side in SIDES if (pair + turn) % 2 == 0 else reversed(SIDES):
            if turn:
                runners[side].move()
            turns[side].append(_must(runners[side].time("cold", plan.calls, walls), side))
    for side in SIDES:
        times.empty[side].append(empties[side].device_us)
        times.cold[side].append(tuple(sample for timed in turns[side] for sample in timed.device_us))
        times.wall[side] += [sample for timed in turns[side] for sample in timed.wall_us]
        if side not in times.warm:
            times.warm[side] = _must(runners[side].time("warm", 2 * plan.calls, 0), side).device_us
    times.clocks.append(_clocks(turns["candidate"], empties["candidate"]))
    _must(runners["candidate"].time("cold", 1 + secrets.randbelow(3) if plan.calls > 1 else 1, 0), "candidate")
    times.notes += _worse_when_timed(checked, runners["candidate"].last_outputs(positions), case)


def _positions(task: Task, case: Case) -> dict[str, NDArray[np.int64]]:
    """Choose elements of large outputs to look at."""
    import numpy as np

    rng = np.random.default_rng(secrets.randbits(64))
    return {
        a.name: np.sort(rng.integers(0, count, _SAMPLED_OUTPUTS))
        for a in task.contract.outputs
        if a.name not in case.null and (count := a.elements(case.sizes)) > 4 * _SAMPLED_OUTPUTS
    }


def _clocks(turns: Sequence[TimedCalls], empty: TimedCalls) -> _Clocks:
    beyond_empty = [turn.block_wall_s / turn.calls - empty.block_wall_s / empty.calls for turn in turns]
    return _Clocks(
        claimed_us=median([sample for turn in turns for sample in turn.device_us]),
        queue_us=median([turn.queue_us for turn in turns]),
        host_us=median([sample for turn in turns for sample in turn.wall_us]),
        driver_us=min(beyond_empty) * 1e6,
    )


def _unlike_other_clocks(times: CaseTimes) -> list[str]:
    """Compare the device times that the candidate's processes claim with two other clocks.

    The host's clock: a call and a device-wide synchronize last about as long as queueing it and its device time; work
    on other streams makes that longer. The driver's clock: what a turn lasts beyond as many empty launches is its
    calls. A busy host lengthens both now and then: what counts is what most processes show.
    """
    claimed, at = median([c.claimed_us for c in times.clocks]), f"at {times.case.name}"
    host = median([c.host_us for c in times.clocks])
    driver = median([c.driver_us for c in times.clocks])
    found = []
    if median([c.host_us - 1.5 * (c.claimed_us + c.queue_us) for c in times.clocks]) > 100:
        found.append(f"suspect: claims {claimed:.1f} us per call, the host's clock saw {host:.0f} us, {at}")
    if median([c.driver_us - c.claimed_us - 3 * c.queue_us for c in times.clocks]) > max(300.0, driver / 2):
        found.append(f"suspect: claims {claimed:.1f} us per call, the driver saw about {driver:.0f} us, {at}")
    return found


def _worse_when_timed(checked: CallResult, timed: CallResult, case: Case) -> list[str]:
    """Compare what a timed call left behind with what a checked call did, on the same data."""
    import numpy as np

    if timed.status != "ok":
        raise CallFailed(timed)
    found = list(timed.damage)
    for name, count in timed.unwritten.items():
        if count > checked.unwritten.get(name, 0):
            found.append(f"{count} elements of {name!r} were not written")
    for name, right in checked.outputs.items():
        a, b = right, timed.outputs[name]
        if a.tobytes() == b.tobytes():
            continue
        if a.dtype == np.uint16:
            a, b = ((x.astype(np.uint32) << 16).view(np.float32) for x in (a, b))
        # Atomics may sum in another order; a skipped or stale result is far from the right one.
        scale = np.abs(a.astype(np.float64)).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            off = np.abs(a.astype(np.float64) - b.astype(np.float64)) > 0.02 * scale
        off |= np.isnan(a) != np.isnan(b)
        if off.any():
            found.append(f"{int(off.sum())} elements of {name!r} differ from the checked call's")
    return [f"suspect: in a timed call {what}, at {case.name}" for what in found]


@dataclass(frozen=True)
class _Session:
    """What all cases together say of the processes."""

    offset_us: dict[Side, list[float]]
    """How much longer than elsewhere an empty launch takes in a process."""
    empty_us: float
    """What it takes in the mean of all processes."""
    tick_us: float
    """The step of the events' clock, as far as the samples show it."""


def _session(times: Sequence[CaseTimes]) -> _Session:
    """Judge the processes by their empty launches.

    The candidate shares its processes with the code that times them: what its empty launches claim counts only within
    a tenth of the baseline's, so that a forged claim gains next to nothing.
    """
    empty = {
        side: [
            trimmed_mean([sample for one in times for sample in one.empty[side][process]])
            for process in range(len(times[0].empty[side]))
        ]
        for side in SIDES
    }
    low, high = (fmean(empty["baseline"]) * (1 + sign * _OFFSET_SHARE) for sign in (-1, 1))
    empty["candidate"] = [min(max(value, low), high) for value in empty["candidate"]]
    mean = fmean(empty["baseline"] + empty["candidate"])
    offsets: dict[Side, list[float]] = {side: [value - mean for value in empty[side]] for side in SIDES}
    seen = sorted({round(sample, 3) for one in times for side in SIDES for block in one.cold[side] for sample in block})
    step = min((b - a for a, b in pairwise(seen)), default=0.0)
    return _Session(offsets, mean, min(step, _EVENT_TICK_US))


def _per_process(times: CaseTimes, session: _Session) -> dict[Side, list[float]]:
    """Return one time per process, microseconds: the trimmed mean of its cold calls, less its offset.

    Every call has one launch or more, and all launches of a process take longer or shorter by about the same. Measured
    on an H200, the offset of empty launches explains most of what differs between processes.
    """
    return {
        side: [
            max(trimmed_mean(block) - offset, 1e-3)
            for block, offset in zip(times.cold[side], session.offset_us[side], strict=True)
        ]
        for side in SIDES
    }


def speedup_of(
    times: Sequence[CaseTimes], task: Task, precision: Precision, gpu: GpuModel, sm_clock_mhz: Sequence[float | None]
) -> Speedup:
    """Return gains and timings at all cases: the geometric mean with its interval, the paper's P = Σ T·S / Σ T.

    The geometric mean's interval comes from one number per process, the mean over the cases: what a process adds to
    all of its cases doesn't average out among them.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    session = _session(times)
    gains: list[CaseGain] = []
    timings: list[Timing] = []
    notes: list[str] = []
    logs: dict[Side, list[list[float]]] = {side: [] for side in SIDES}
    resolutions = []
    for one, mhz in zip(times, sm_clock_mhz, strict=True):
        each = _per_process(one, session)
        baseline_us, candidate_us = (fmean(each[side]) for side in SIDES)
        bound = floor(task, precision, one.case, gpu.model_copy(update={"empty_launch_us": session.empty_us})).time_us
        resolutions.append(session.tick_us / 2 * (1 / baseline_us + 1 / candidate_us))
        for side in SIDES:
            logs[side].append([log_mean([value]) for value in each[side]])
        ratio = ratio_interval(logs["baseline"][-1], logs["candidate"][-1], resolutions[-1])
        notes += [*dict.fromkeys(one.notes), *_unlike_other_clocks(one)]
        if candidate_us < SUSPECT_BELOW_FLOOR * bound:
            notes.append(
                f"suspect: {candidate_us:.2f} us is below {SUSPECT_BELOW_FLOOR} of the floor {bound:.2f} us, "
                f"at {one.case.name}"
            )
        if ratio.high > (1 + NOISY_HALF_WIDTH) * ratio.value:
            notes.append(f"noisy: the ratio's interval is {ratio.low:.3f} to {ratio.high:.3f}, at {one.case.name}")
        gains.append(
            CaseGain(
                case=one.case.name, set=one.case.set, complexity=task.complexity(one.case.sizes),
                baseline_us=baseline_us, candidate_us=candidate_us, ratio=ratio, floor_us=bound,
                efficiency=bound / candidate_us,
            )
        )  # fmt: skip
        for side in SIDES:
            counts = {"cold": sum(map(len, one.cold[side])), "warm": len(one.warm[side]), "wall": len(one.wall[side])}
            found = {
                "cold": mean_interval(each[side]),
                "warm": median_interval(one.warm[side], rng),
                "wall": median_interval(one.wall[side], rng),
            }
            timings += [
                Timing(
                    case=one.case.name, set=one.case.set, method=method, time_us=found[method],
                    samples=counts[method], sm_clock_mhz=mhz, library=side,
                )
                for method in ("cold", "warm", "wall")
            ]  # fmt: skip
    overall = [[fmean(cases) for cases in zip(*logs[side], strict=True)] for side in SIDES]
    weights = [float(g.complexity) for g in gains]
    return Speedup(
        cases=tuple(gains),
        geomean=ratio_interval(overall[0], overall[1], fmean(resolutions)),
        weighted=sum(w * g.ratio.value for w, g in zip(weights, gains, strict=True)) / sum(weights),
        efficiency=float(np.exp(log_mean([g.efficiency for g in gains if g.efficiency]))),
        notes=tuple(notes),
        timings=tuple(timings),
    )


def compare_on_gpu(
    open_runner: Callable[[Side], RunnerProcess],
    task: Task,
    precision: Precision,
    cases: Sequence[Case],
    gpu: GpuModel,
    arrays_of: Callable[[Case], dict[str, NDArray[Any]]],
    sm_clock_mhz: Callable[[Runners], float | None],
) -> Speedup:
    """Time both libraries at these cases, in several pairs of processes; the caller holds the GPU's lock.

    Raises:
        CallFailed: a call failed.
    """
    times = [CaseTimes(case) for case in cases]
    clocks: list[float | None] = []
    with ThreadPoolExecutor(2) as pool:
        pair, wanted = 0, 1
        while pair < wanted:
            # What starts or ends first in a pair gets other places in memory than what comes second: they alternate.
            order = SIDES if pair % 2 == 0 else SIDES[::-1]
            with ExitStack() as opened:
                starting = {side: pool.submit(open_runner, side) for side in order}
                for start in starting.values():  # if one side fails to start, the other is closed
                    if start.exception() is None:
                        opened.enter_context(start.result())
                runners: Runners = {side: starting[side].result() for side in SIDES}
                for one in times:
                    time_case(runners, task, precision, one, arrays_of(one.case), pair)
                    if pair == 0:
                        clocks.append(sm_clock_mhz(runners))
            pair, wanted = pair + 1, pairs(times, task, precision)
    return speedup_of(times, task, precision, gpu, clocks)
