"""Times baseline against candidate: two processes, taking turns at the GPU, and says what looks wrong."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...records import CaseGain, Interval, Speedup, Timing
from ..gpu_model import GpuModel
from ..port import CallFailed, CallResult
from ..runner.client import RunnerProcess, TimedCalls
from .bootstrap import interval, median_interval, ratio_draws
from .floor import floor_us

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUSPECT_BELOW_FLOOR: Final = 0.9
"""A cold time below this part of the floor can't be true."""
NOISY_WIDTH: Final = 0.10
"""A relative width of the 95 % interval of a ratio above this is noise."""
_SAMPLED_OUTPUTS: Final = 1 << 16
"""Elements per output that are compared after timing."""

Side = Literal["baseline", "candidate"]


@dataclass(frozen=True)
class Schedule:
    """How often a case is timed: turns for each side, calls per turn."""

    turns: int
    calls: int


def schedule(baseline_us: float) -> Schedule:
    """Decide from the baseline's time alone, so that a candidate can't choose how often it is measured."""
    if baseline_us > 200_000:
        return Schedule(3, 1)
    if baseline_us > 20_000:
        return Schedule(4, 2)
    if baseline_us > 2_000:
        return Schedule(6, 4)
    return Schedule(8, 8)


@dataclass(frozen=True)
class CaseTimes:
    """What was measured at one case."""

    case: Case
    cold: dict[Side, list[tuple[float, ...]]]
    """Device times, microseconds, one tuple per turn."""
    warm: dict[Side, tuple[float, ...]]
    wall: dict[Side, tuple[float, ...]]
    empty_us: float
    notes: tuple[str, ...]


def _must(result: TimedCalls | CallResult, side: Side) -> TimedCalls:
    if isinstance(result, CallResult):
        raise CallFailed(result, side)
    return result


def time_case(
    runners: dict[Side, RunnerProcess], task: Task, precision: Precision, case: Case, arrays: dict[str, NDArray[Any]]
) -> CaseTimes:
    """Time both libraries at one case; the caller holds the GPU's lock.

    Raises:
        CallFailed: a call failed.
    """
    cold: dict[Side, list[tuple[float, ...]]] = {side: [] for side in runners}
    warm: dict[Side, tuple[float, ...]] = {}
    wall: dict[Side, list[float]] = {side: [] for side in runners}
    notes: list[str] = []
    before: dict[Side, CallResult] = {}
    positions = _positions(task, case)
    for side, runner in runners.items():
        runner.load_case(case, arrays)
        before[side] = runner.call(positions=positions)
        if before[side].status != "ok":
            raise CallFailed(before[side], side)
        beyond = float(runner.reply.get("beyond_stream_us", 0.0))
        if side == "candidate" and beyond > 50 + 0.25 * before[side].wall_us:
            notes.append(f"suspect: work went on for {beyond:.0f} us after the stream was done, at {case.name}")
    # Data were just made on the host: the GPU's clocks have gone down meanwhile.
    _must(runners["baseline"].time("empty", 200), "baseline")
    plan = schedule(median(_must(runners["baseline"].time("cold", 3), "baseline").device_us))
    _must(runners["candidate"].time("cold", 1), "candidate")
    turns: list[TimedCalls] = []
    order: list[Side] = ["baseline", "candidate"]
    for turn in range(plan.turns):
        for side in order if turn % 2 == 0 else reversed(order):
            runners[side].move()
            timed = _must(runners[side].time("cold", plan.calls), side)
            cold[side].append(timed.device_us)
            wall[side] += timed.wall_us
            if side == "candidate":
                turns.append(timed)
    for side, runner in runners.items():
        warm[side] = _must(runner.time("warm", 2 * plan.calls), side).device_us
    empty = _must(runners["candidate"].time("empty", plan.calls), "candidate")
    notes += _unlike_other_clocks(turns, empty, case)
    _must(runners["candidate"].time("cold", secrets.randbelow(3) + 1), "candidate")
    notes += _worse_when_timed(before["candidate"], runners["candidate"].last_outputs(positions), case)
    return CaseTimes(
        case, cold, warm, {side: tuple(w) for side, w in wall.items()}, median(empty.device_us), tuple(notes)
    )


def _positions(task: Task, case: Case) -> dict[str, NDArray[np.int64]]:
    """Choose elements of large outputs to look at."""
    import numpy as np

    rng = np.random.default_rng(secrets.randbits(64))
    return {
        a.name: np.sort(rng.integers(0, count, _SAMPLED_OUTPUTS))
        for a in task.contract.outputs
        if a.name not in case.null and (count := a.elements(case.sizes)) > 4 * _SAMPLED_OUTPUTS
    }


def _unlike_other_clocks(turns: Sequence[TimedCalls], empty: TimedCalls, case: Case) -> list[str]:
    """Compare the device times that the candidate's process claims with two other clocks.

    The host's clock: a call and a device-wide synchronize last about as long as queueing it and its device time; work
    on other streams makes that longer. The driver's clock: a turn of n calls and one of n empty launches differ by the
    calls themselves (n timed, a quarter again for the host's clock, two to warm up).
    """
    claimed = median([sample for turn in turns for sample in turn.device_us])
    host = median([sample for turn in turns for sample in turn.wall_us])
    queue = median([turn.queue_us for turn in turns])
    calls = len(turns[0].device_us)
    block = median([turn.block_wall_s for turn in turns])
    driver = (block - empty.block_wall_s) * 1e6 / (calls + (calls + 3) // 4 + 2)
    found = []
    if host > 1.5 * (claimed + queue) + 100:
        found.append(f"suspect: claims {claimed:.1f} us per call, the host's clock saw {host:.0f} us, at {case.name}")
    if driver - claimed - 3 * queue > max(200.0, driver / 2):
        found.append(f"suspect: claims {claimed:.1f} us per call, the driver saw about {driver:.0f} us, at {case.name}")
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


def gain_of(
    times: CaseTimes, task: Task, precision: Precision, gpu: GpuModel, rng: np.random.Generator
) -> tuple[CaseGain, NDArray[np.float64], tuple[str, ...]]:
    """Return the gain at one case, resampled ratios, and notes about what looks wrong."""
    ratio, draws = ratio_draws(times.cold["baseline"], times.cold["candidate"], rng)
    middle = {side: median([s for turn in turns for s in turn]) for side, turns in times.cold.items()}
    bound = floor_us(task, precision, times.case, gpu, times.empty_us)
    whole = interval(ratio, draws)
    notes = list(times.notes)
    if middle["candidate"] < SUSPECT_BELOW_FLOOR * bound:
        notes.append(
            f"suspect: {middle['candidate']:.2f} us is below {SUSPECT_BELOW_FLOOR} of the floor {bound:.2f} us, "
            f"at {times.case.name}"
        )
    if (whole.high - whole.low) / whole.value > NOISY_WIDTH:
        notes.append(f"noisy: the ratio's interval is {whole.low:.3f} to {whole.high:.3f}, at {times.case.name}")
    gain = CaseGain(
        case=times.case.name, set=times.case.set, complexity=task.complexity(times.case.sizes),
        baseline_us=middle["baseline"], candidate_us=middle["candidate"], ratio=whole, floor_us=bound,
        efficiency=bound / middle["candidate"],
    )  # fmt: skip
    return gain, draws, tuple(notes)


def timings_of(times: CaseTimes, sm_clock_mhz: float | None, rng: np.random.Generator) -> list[Timing]:
    """Return every median with its interval."""
    made = []
    for side in times.cold:
        flat = tuple(sample for turn in times.cold[side] for sample in turn)
        methods: dict[Literal["cold", "warm", "wall"], tuple[float, ...]] = {
            "cold": flat,
            "warm": times.warm[side],
            "wall": times.wall[side],
        }
        for method, samples in methods.items():
            made.append(
                Timing(
                    case=times.case.name, set=times.case.set, method=method, time_us=median_interval(samples, rng),
                    samples=len(samples), sm_clock_mhz=sm_clock_mhz, library=side,
                )
            )  # fmt: skip
    return made


def summarised(gains: Sequence[CaseGain], draws: Sequence[NDArray[np.float64]]) -> tuple[Interval, float, float | None]:
    """Return the geometric mean of the ratios with its interval, the paper's P = Σ T·S / Σ T, and mean efficiency."""
    import numpy as np

    logs = np.log(np.stack(draws)).mean(axis=0)
    value = float(np.exp(np.mean([np.log(g.ratio.value) for g in gains])))
    weights = [float(g.complexity) for g in gains]
    weighted = sum(w * g.ratio.value for w, g in zip(weights, gains, strict=True)) / sum(weights)
    efficiencies = [g.efficiency for g in gains if g.efficiency]
    efficiency = float(np.exp(np.mean(np.log(efficiencies)))) if len(efficiencies) == len(gains) else None
    return interval(value, np.exp(logs)), weighted, efficiency


def compare_on_gpu(
    runners: dict[Side, RunnerProcess],
    task: Task,
    precision: Precision,
    cases: Sequence[Case],
    gpu: GpuModel,
    arrays_of: Callable[[Case], dict[str, NDArray[Any]]],
    sm_clock_mhz: Callable[[], float | None],
) -> Speedup:
    """Time both libraries at these cases; the caller holds the GPU's lock.

    Raises:
        CallFailed: a call failed.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    gains: list[CaseGain] = []
    all_draws: list[NDArray[np.float64]] = []
    notes: list[str] = []
    timings: list[Timing] = []
    for case in cases:
        times = time_case(runners, task, precision, case, arrays_of(case))
        gain, draws, found = gain_of(times, task, precision, gpu, rng)
        gains.append(gain)
        all_draws.append(draws)
        notes += found
        timings += timings_of(times, sm_clock_mhz(), rng)
    geomean, weighted, efficiency = summarised(gains, all_draws)
    return Speedup(
        cases=tuple(gains), geomean=geomean, weighted=weighted, efficiency=efficiency, notes=tuple(notes),
        timings=tuple(timings),
    )  # fmt: skip
