"""Times baseline against candidate: two processes, taking turns at the GPU, several times over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ...phases import phase
from ...records import Speedup
from ..gpu_model import GpuModel
from ..port import CallFailed, CallResult
from ..runner.client import RunnerProcess, TimedCalls
from .gains import speedup_of
from .samples import SIDES, CaseTimes, Side, schedule
from .suspicion import clocks_of, worse_when_timed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMPTY_CALLS: Final = 24
_SAMPLED_OUTPUTS: Final = 1 << 16
"""Elements per output that are compared after timing."""

Runners = dict[Side, RunnerProcess]
Data = Mapping[str, "NDArray[Any]"]


def compare_on_gpu(
    open_runner: Callable[[Side], RunnerProcess],
    task: Task,
    precision: Precision,
    data: Sequence[tuple[Case, Data]],
    gpu: GpuModel,
    sm_clock_mhz: Callable[[Runners], float | None],
) -> Speedup:
    """Time both libraries at these cases, in several pairs of processes; the caller holds the GPU's lock.

    A library whose calls are long drops out of the later pairs (see `schedule`).

    Raises:
        CallFailed: a call failed.
    """
    times = [CaseTimes(case) for case, _ in data]
    clocks: list[float | None] = []
    with ThreadPoolExecutor(2) as pool:
        pair = 0
        while sides := tuple(s for s in SIDES if any(s in one.sides(pair) for one in times)):
            # What starts or ends first in a pair gets other places in memory than what comes second: they alternate.
            order = sides if pair % 2 == 0 else sides[::-1]
            with ExitStack() as opened:
                starting = {side: pool.submit(open_runner, side) for side in order}
                for start in starting.values():  # if one side fails to start, the other is closed
                    if start.exception() is None:
                        opened.enter_context(start.result())
                runners: Runners = {side: starting[side].result() for side in sides}
                for one, (_, arrays) in zip(times, data, strict=True):
                    time_case(runners, task, precision, one, arrays, pair, pool)
                    if pair == 0:
                        clocks.append(sm_clock_mhz(runners))
            pair += 1
    return speedup_of(times, task, precision, gpu, clocks)


def time_case(
    runners: Runners,
    task: Task,
    precision: Precision,
    times: CaseTimes,
    arrays: Data,
    pair: int,
    pool: ThreadPoolExecutor,
) -> None:
    """Time the libraries at one case in one pair of processes and add to `times`.

    Raises:
        CallFailed: a call failed.
    """
    case, sides = times.case, times.sides(pair)
    order = sides if pair % 2 == 0 else sides[::-1]
    positions = _positions(task, case)
    with phase("load"):
        list(pool.map(lambda side: runners[side].load_case(case, arrays), sides))
    if "candidate" in sides:
        checked = _checked(runners["candidate"], times, positions)
    first: dict[Side, TimedCalls] = {}
    if pair == 0:
        # Data may just have been made on the host: the GPU's clocks have gone down meanwhile.
        _must(runners["baseline"].time("empty", 200), "baseline")
        array_bytes = sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.arrays)
        for side in sides:
            first[side] = _must(runners[side].time("cold", 1, 1), side)
            times.of(side).plan = schedule(median(first[side].device_us), array_bytes)
    empties = {side: _must(runners[side].time("empty", _EMPTY_CALLS, 2), side) for side in sides}
    turns: dict[Side, list[TimedCalls]] = {side: [] for side in sides}
    with phase("turns"):
        for turn in range(2):
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
        more = 1 + (secrets.randbelow(3) if len(times.candidate.cold[-1]) > 1 else 0)
        _must(runners["candidate"].time("cold", more, 0), "candidate")
        with phase("collect"):
            times.notes += worse_when_timed(checked, runners["candidate"].last_outputs(positions), case)


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


def _positions(task: Task, case: Case) -> dict[str, NDArray[np.int64]]:
    """Choose elements of large outputs to look at."""
    import numpy as np

    rng = np.random.default_rng(secrets.randbits(64))
    return {
        a.name: np.sort(rng.integers(0, count, _SAMPLED_OUTPUTS))
        for a in task.contract.outputs
        if a.name not in case.null and (count := a.elements(case.sizes)) > 4 * _SAMPLED_OUTPUTS
    }
