"""From samples to a speedup: per case and in the mean, with intervals, floors and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import exp, log
from statistics import fmean
from typing import Final

from ....benchmark.contract import Precision
from ....benchmark.task import Task
from ...profile.roofline import floor
from ...records import CaseGain, Interval, Speedup, Timing
from ..gpu_model import GpuModel
from .intervals import log_mean, mean_interval, median_interval, ratio_interval, trimmed_mean
from .samples import SIDES, CaseTimes, Side
from .suspicion import unlike_other_clocks

SUSPECT_BELOW_FLOOR: Final = 0.9
"""A cold time below this part of the floor can't be true."""
NOISY_HALF_WIDTH: Final = 0.05
"""A ratio whose 95 % interval reaches further than this share of it to a side is noted."""
_OFFSET_SHARE: Final = 0.1
"""By so much of the mean an empty launch may differ in one process. On an H200 it differs by up to 0.07."""
_EVENT_TICK_US: Final = 0.5
"""Resolution of events as CUDA documents it; a GPU whose samples show a finer step has that."""


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
    empty: dict[Side, list[float]] = {}
    for side in SIDES:
        blocks = [one.of(side).empty for one in times]
        count = max(map(len, blocks))
        of_process = [[sample for block in blocks if p < len(block) for sample in block[p]] for p in range(count)]
        empty[side] = [trimmed_mean(samples) for samples in of_process]
    low, high = (fmean(empty["baseline"]) * (1 + sign * _OFFSET_SHARE) for sign in (-1, 1))
    empty["candidate"] = [min(max(value, low), high) for value in empty["candidate"]]
    mean = fmean(empty["baseline"] + empty["candidate"])
    offsets: dict[Side, list[float]] = {side: [value - mean for value in empty[side]] for side in SIDES}
    seen = {round(sample, 3) for one in times for side in SIDES for block in one.of(side).cold for sample in block}
    step = min((b - a for a, b in pairwise(sorted(seen))), default=0.0)
    return _Session(offsets, mean, min(step, _EVENT_TICK_US))


def _per_process(times: CaseTimes, session: _Session) -> dict[Side, list[float]]:
    """Return one time per process, microseconds: the trimmed mean of its cold calls, less its offset.

    Every call has one launch or more, and all launches of a process take longer or shorter by about the same. Measured
    on an H200, the offset of empty launches explains most of what differs between processes.
    """
    return {
        side: [
            max(trimmed_mean(block) - offset, 1e-3)
            for block, offset in zip(times.of(side).cold, session.offset_us[side], strict=False)
        ]
        for side in SIDES
    }


def mean_gain(times: Sequence[CaseTimes]) -> Interval:
    """Return the geometric mean over the cases of baseline ÷ candidate, with its interval."""
    session = _session(times)
    each = [_per_process(one, session) for one in times]
    return _mean_gain(each, session)


def _mean_gain(each: Sequence[dict[Side, list[float]]], session: _Session) -> Interval:
    baseline, candidate = (_parts([[log(us) for us in case[side]] for case in each]) for side in SIDES)
    return ratio_interval(baseline, candidate, fmean(_resolution(case, session) for case in each))


def _resolution(each: dict[Side, list[float]], session: _Session) -> float:
    """Return what the clock can't tell apart, as a share of both times."""
    return sum(session.tick_us / 2 / fmean(each[side]) for side in SIDES)


def speedup_of(
    times: Sequence[CaseTimes], task: Task, precision: Precision, gpu: GpuModel, sm_clock_mhz: Sequence[float | None]
) -> Speedup:
    """Return gains and timings at all cases: the geometric mean with its interval, the paper's P = Σ T·S / Σ T."""
    session = _session(times)
    gains: list[CaseGain] = []
    timings: list[Timing] = []
    notes: list[str] = []
    of_cases = [_per_process(one, session) for one in times]
    for one, each, mhz in zip(times, of_cases, sm_clock_mhz, strict=True):
        baseline_us, candidate_us = (fmean(each[side]) for side in SIDES)
        bound = floor(task, precision, one.case, gpu.model_copy(update={"empty_launch_us": session.empty_us})).time_us
        ratio = _mean_gain([each], session)
        notes += [*dict.fromkeys(one.notes), *unlike_other_clocks(one)]
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
        timings += _timings(one, each, mhz)
    weights = [float(g.complexity) for g in gains]
    return Speedup(
        cases=tuple(gains),
        geomean=_mean_gain(of_cases, session),
        weighted=sum(w * g.ratio.value for w, g in zip(weights, gains, strict=True)) / sum(weights),
        efficiency=exp(log_mean([g.efficiency for g in gains if g.efficiency])),
        notes=tuple(notes),
        timings=tuple(timings),
    )


def _parts(logs: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return one library's logarithms per case and process as parts of the mean over the cases, one number per process.

    What a process adds to all of its cases doesn't average out among them, so cases timed in the same processes are
    one part; those timed in fewer are others, whose long calls feel too little of it to be tied to the rest.
    """
    by_count = groupby(sorted(logs, key=len), key=len)
    return [[sum(values) / len(logs) for values in zip(*cases, strict=True)] for _, cases in by_count]


def _timings(one: CaseTimes, each: dict[Side, list[float]], mhz: float | None) -> list[Timing]:
    import numpy as np

    rng = np.random.default_rng(0)
    timings = []
    for side in SIDES:
        of = one.of(side)
        found = {
            "cold": (mean_interval(each[side]), sum(map(len, of.cold))),
            "warm": (median_interval(of.warm, rng), len(of.warm)),
            "wall": (median_interval(of.wall, rng), len(of.wall)),
        }
        for method in ("cold", "warm", "wall"):
            interval, count = found[method]
            timings.append(
                Timing(
                    case=one.case.name,
                    set=one.case.set,
                    method=method,
                    time_us=interval,
                    samples=count,
                    sm_clock_mhz=mhz,
                    library=side,
                )
            )
    return timings
