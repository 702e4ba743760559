"""What looks wrong about a candidate's times: other clocks, and what its timed calls left behind."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ....benchmark.task import Case
from ..port import CallFailed, CallResult
from ..runner.client import TimedCalls
from .samples import CaseTimes, Clocks


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


def worse_when_timed(checked: CallResult, timed: CallResult, case: Case) -> list[str]:
    """Compare what a timed call left behind with what a checked call did, on the same data.

    Raises:
        CallFailed: the timed call failed.
    """
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
