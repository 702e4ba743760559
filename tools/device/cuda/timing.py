"""Times baseline against candidate: two processes, taking turns at the GPU, several times over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Expected, Task
from ...phases import phase
from ...records import Interval, Speedup
from ..gpu_model import GpuModel
from ..port import CallFailed, CallResult
from ..runner.client import RunnerProcess, TimedCalls
from .gains import mean_gain, speedup_of
from .samples import SIDES, CaseTimes, Side, schedule
from .suspicion import Wanted, clocks_of, unlike_other_clocks, unlike_the_baseline, worse_when_timed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMPTY_CALLS: Final = 120
"""Empty launches timed in a process, shared among its cases."""
_WAKING_CALLS: Final = 200
"""Before a pair is timed: while its processes started the GPU's clocks have gone down."""
_CLEAR_AFTER: Final = 3
_NEAR: Final = 0.1
_PRECISE: Final = 0.01
"""After so many pairs a gain that is further from 1 than this, and known as precisely as that, needs no more."""
_DECIDED_AFTER: Final = 2
_WORTHWHILE: Final = 0.05
_ROUGHLY: Final = 0.05
"""Where only a gain to beat counts: after so many pairs one that can't beat it by more than this, or does, and is known
as precisely as that, needs no more."""
Runners = dict[Side, RunnerProcess]
Data = Mapping[str, "NDArray[Any]"]
Truth = Mapping[str, Expected]


def compare_on_gpu(
    open_runner: Callable[[Side], RunnerProcess],
    task: Task,
    precision: Precision,
    data: Sequence[tuple[Case, Data, Truth]],
    gpu: GpuModel,
    sm_clock_mhz: Callable[[Runners], float | None],
    to_beat: float | None = None,
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Speedup:
    """Time both libraries at these cases, in several pairs of processes. `hold` returns a context that has the GPU to
    itself: a pair is timed in it, and starts and ends outside.

    A library whose calls are long drops out of the later pairs (see `schedule`), and a clear gain needs no more pairs,
    nor does one of which it is known whether it is more than `to_beat`.

    Raises:
        CallFailed: a call failed.
    """
    times = [CaseTimes(case) for case, _, _ in data]
    clocks: list[float | None] = []
    runners: Runners = {}
    with ThreadPoolExecutor(4) as pool:
        try:
            pair = 0
            while sides := tuple(s for s in SIDES if any(s in one.sides(pair) for one in times)):
                # What starts first in a pair gets other places in memory than what comes second: they alternate.
                order = sides if pair % 2 == 0 else sides[::-1]
                ending = [pool.submit(runner.close) for runner in runners.values()]
                starting = {side: pool.submit(open_runner, side) for side in order}
                wait(ending)
                # If one side fails to start, the other is closed.
                runners = {side: start.result() for side, start in starting.items() if start.exception() is None}
                for start in starting.values():
                    start.result()
                empty_calls = max(6, _EMPTY_CALLS // len(data))
                with hold():
                    _must(next(iter(runners.values())).time("empty", _WAKING_CALLS), sides[0])
                    for one, (_, arrays, truth) in zip(times, data, strict=True):
                        time_case(runners, task, precision, one, arrays, truth, pair, empty_calls, pool)
                        if pair == 0:
                            clocks.append(sm_clock_mhz(runners))
                pair += 1
                accused = [one for one in times if unlike_other_clocks(one)]
                for one in accused:
                    one.look_closer()
                if not accused and pair >= _DECIDED_AFTER and _enough(mean_gain(times), pair, to_beat):
                    break
        finally:
            wait([pool.submit(runner.close) for runner in runners.values()])
    return speedup_of(times, task, precision, gpu, clocks)


def _enough(gain: Interval, pairs: int, to_beat: float | None) -> bool:
    """Return True if a gain is known well enough after so many pairs.

    It has to be far from 1 and well known: only results near 1 need all pairs to be told apart. With a gain to beat it
    has to be on one side of that; how much less a loser gains is of no use to anybody.
    """
    if to_beat is not None:
        beaten = gain.low > to_beat and gain.high < (1 + _ROUGHLY) * gain.value
        return beaten or gain.high < (1 + _WORTHWHILE) * to_beat
    far = gain.low > 1 + _NEAR or gain.high < 1 - _NEAR
    return pairs >= _CLEAR_AFTER and far and gain.high < (1 + _PRECISE) * gain.value


def time_case(
    runners: Runners,
    task: Task,
    precision: Precision,
    times: CaseTimes,
    arrays: Data,
    truth: Truth,
    pair: int,
    empty_calls: int,
    pool: ThreadPoolExecutor,
) -> None:
    """Time the libraries at one case in one pair of processes and add to `times`.

    Raises:
        CallFailed: a call failed.
    """
    case, sides = times.case, times.sides(pair)
    order = sides if pair % 2 == 0 else sides[::-1]
    wanted = Wanted.of(truth, task, precision, case)
    with phase("load"):
        list(pool.map(lambda side: runners[side].load_case(case, arrays), sides))
    if "candidate" in sides:
        checked = _checked(runners["candidate"], times, wanted.positions)
    first: dict[Side, TimedCalls] = {}
    if pair == 0:
        array_bytes = sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.arrays)
        for side in sides:
            first[side] = _must(runners[side].time("cold", 1, 1), side)
            times.of(side).plan = schedule(median(first[side].device_us), array_bytes)
    empties = {side: _must(runners[side].time("empty", empty_calls, 2), side) for side in sides}
    turns: dict[Side, list[TimedCalls]] = {side: [] for side in sides}
    early = secrets.randbelow(2)
    with phase("turns"):
        for turn in range(2):
            if turn == early and len(sides) == 2:
                times.notes += unlike_the_baseline(runners, wanted)
            for side in order if turn == 0 else order[::-1]:
                plan = times.of(side).plan
                assert plan is not None
                if turn >= plan.turns:
                    continue
                if turn:
                    runners[side].move()
                if plan.calls == 1 and side in first:
                    turns[side].append(first[side])
                    continue
                walls = min(2, plan.calls) if side == "candidate" or pair == 0 else 0
                turns[side].append(_must(runners[side].time("cold", plan.calls, walls), side))
    for side in sides:
        of = times.of(side)
        of.empty.append(empties[side].device_us)
        of.cold.append(tuple(sample for timed in turns[side] for sample in timed.device_us))
        of.wall += [sample for timed in turns[side] for sample in timed.wall_us]
        if pair == 0:
            assert of.plan is not None
            of.warm = _must(runners[side].time("warm", min(24, 2 * of.plan.calls - 1), 0), side).device_us
    if "candidate" in sides:
        times.clocks.append(clocks_of(turns["candidate"], empties["candidate"]))
        for timed in turns["candidate"]:
            times.notes += [f"suspect: while it was timed, {what}, at {case.name}" for what in timed.damage]
        # Who knew which calls are looked at could be right at those alone.
        for look_at_own in secrets.choice([(True, False), (False, True)]):
            if look_at_own:
                _must(runners["candidate"].time("cold", 1, 0, turn=0.0), "candidate")
                times.notes += worse_when_timed(checked, runners["candidate"].last_outputs(wanted.positions), wanted)
            elif len(sides) == 2:
                times.notes += unlike_the_baseline(runners, wanted)


def _checked(runner: RunnerProcess, times: CaseTimes, positions: dict[str, NDArray[np.int64]]) -> CallResult:
    """Call the candidate once, with all that is looked at in a call that is not timed."""
    with phase("collect"):
        checked = runner.call(positions=positions)
    if checked.status != "ok":
        raise CallFailed(checked, "candidate")
    times.notes += [f"suspect: {what}, at {times.case.name}" for what in checked.damage]
    return checked


def _must(result: TimedCalls | CallResult, side: Side) -> TimedCalls:
    if isinstance(result, CallResult):
        raise CallFailed(result, side)
    return result
