"""What looks wrong about a candidate's times: other clocks, and what its timed calls left behind."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ....benchmark.contract import Precision
from ....benchmark.storage import from_storage
from ....benchmark.task import Case, Expected, Task
from ..port import CallFailed, CallResult
from ..runner.client import RunnerProcess, TimedCalls
from .samples import SIDES, CaseTimes, Clocks, Side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TIMED_PATTERN: Final = 0xFF
"""Fills outputs before timed calls."""
_SAMPLED: Final = 1 << 16
"""Elements per output that are compared after timing."""
_OF_BOUND: Final = 8.0


def clocks_of(turns: Sequence[TimedCalls], empty: TimedCalls) -> Clocks:
    """Return what the clocks say of the candidate's turns in one process; `empty` are empty launches there."""
    beyond_empty = [turn.block_wall_s / turn.calls - empty.block_wall_s / empty.calls for turn in turns]
    return Clocks(
        claimed_us=median([sample for turn in turns for sample in turn.device_us]),
        queue_us=median([turn.queue_us for turn in turns]),
        host_us=median([sample for turn in turns for sample in turn.wall_us]),
        driver_us=min(beyond_empty) * 1e6,
    )


def unlike_other_clocks(times: CaseTimes) -> list[str]:
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


@dataclass(frozen=True)
class Wanted:
    """What is looked at in timed calls: the truth at some elements of each output."""

    truth: Mapping[str, Expected]
    task: Task
    precision: Precision
    case: Case

    @classmethod
    def of(cls, truth: Mapping[str, Expected], task: Task, precision: Precision, case: Case) -> Wanted:
        """Choose elements anew each time, so that nobody knows which."""
        import numpy as np

        rng = np.random.default_rng(secrets.randbits(64))
        return cls({name: _some(one, rng) for name, one in truth.items()}, task, precision, case)

    @property
    def positions(self) -> dict[str, NDArray[np.int64]]:
        """The elements wanted of each output of which not all are."""
        return {name: one.positions for name, one in self.truth.items() if one.positions is not None}


def worse_when_timed(checked: CallResult, timed: CallResult, wanted: Wanted) -> list[str]:
    """Say what is wrong with what a timed call on the case's own data left behind.

    Raises:
        CallFailed: the timed call failed.
    """
    from ...judge.compare import compare

    if timed.status != "ok":
        raise CallFailed(timed)
    found = list(timed.damage)
    for name, count in timed.unwritten.items():
        if count > checked.unwritten.get(name, 0):
            found.append(f"{count} elements of {name!r} were not written")
    for argument in wanted.task.contract.outputs:
        if (right := wanted.truth.get(argument.name)) is not None:
            sizes = wanted.case.sizes
            seen = compare(timed.outputs[argument.name], right, argument, wanted.precision, sizes, TIMED_PATTERN)
            found += [] if seen.ok else [seen.reason]
    return [f"suspect: in a timed call {what}, at {wanted.case.name}" for what in found]


def unlike_the_baseline(runners: Mapping[Side, RunnerProcess], wanted: Wanted) -> list[str]:
    """Time one call of each library, on other data than the case's own, and compare what they left behind.

    The values are turned round by the same part for both. The bounds of the case's own data hold for neither exactly:
    a difference is told from several times the largest of them.

    Raises:
        CallFailed: a call failed.
    """
    import numpy as np

    part = 0.1 + 0.8 * secrets.randbelow(1 << 20) / (1 << 20)
    outputs: dict[Side, Mapping[str, NDArray[Any]]] = {}
    for side, runner in runners.items():
        timed = runner.time("cold", 1, 0, turn=part)
        left = timed if isinstance(timed, CallResult) else runner.last_outputs(wanted.positions, outputs_only=True)
        if left.status != "ok":
            raise CallFailed(left, side)
        outputs[side] = left.outputs
    found = []
    for argument in wanted.task.contract.outputs:
        if (truth := wanted.truth.get(argument.name)) is None:
            continue
        dtype = argument.dtype.resolve(wanted.precision)
        first, second = (from_storage(np.ravel(outputs[side][argument.name]), dtype) for side in SIDES)
        most = 0.0 if truth.bound is None else _OF_BOUND * float(np.max(truth.bound, initial=0.0))
        with np.errstate(invalid="ignore"):
            off = ~((np.abs(first - second) <= most) | (first == second) | (np.isnan(first) & np.isnan(second)))
        if off.any():
            found.append(f"{int(off.sum())} elements of {argument.name!r} differ from the baseline's")
    return [f"suspect: in a timed call on other data {what}, at {wanted.case.name}" for what in found]


def _some(expected: Expected, rng: np.random.Generator) -> Expected:
    """Return the truth at up to `_SAMPLED` of its elements."""
    import numpy as np

    count = expected.value.size
    if count <= 4 * _SAMPLED:
        return expected
    chosen = np.sort(rng.integers(0, count, _SAMPLED))
    places = chosen if expected.positions is None else expected.positions[chosen]
    bound = expected.bound
    if bound is not None:
        bound = np.broadcast_to(bound, expected.value.shape).reshape(-1)[chosen]
    return Expected(expected.value.reshape(-1)[chosen], bound, places)
