"""Nothing left to gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule
from ..roofline import STOP_WITHIN_PCT, near_floor
from ..subject import SATURATED_PCT, Subject
from ..totals import total


class NearFloor(Rule):
    """The call is within 15 % of its floor: the larger of the compulsory work at best rates and an empty launch.

    It also applies when device memory is at 85 % of its peak and moves little but the compulsory bytes. The bound is
    the time ÷ the floor. The advice is to stop.
    """

    name = "near_floor"
    strategies = ("stop",)
    reads = ("duration_us", "dram_throughput_pct", "dram_read_bytes", "dram_write_bytes")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the whole call."""
        bound = subject.floor
        if subject.call_us is None:
            return
        if not near_floor(subject.call_us, bound):
            yield from self._saturated(subject, subject.call_us)
            return
        yield self.finding(
            f"The call is within {STOP_WITHIN_PCT:.0f} % of its floor, set by {_LIMITS[bound.limiter]}: stop here.",
            f"{subject.call_us:.1f} us against a floor of {bound.time_us:.1f} us",
            subject.call_us / bound.time_us,
        )

    def _saturated(self, subject: Subject, call_us: float) -> Iterator[Finding]:
        busy, read, wrote = (total(subject.profile, n) for n in self.reads[1:])
        if busy is None or read is None or wrote is None or busy < SATURATED_PCT:
            return
        if read + wrote <= _LITTLE_MORE * subject.min_bytes:
            yield self.finding(
                f"Device memory runs at {busy:.0f} % of its peak, as fast as it gets, and moves only compulsory "
                "bytes: stop.",
                f"{(read + wrote) / 1e6:.1f} MB moved, {subject.min_bytes / 1e6:.1f} MB compulsory",
                call_us / subject.floor.time_us,
            )


_LITTLE_MORE: Final = 1.1
"""Times the compulsory bytes."""

_LIMITS: Final = {
    "launch": "the launch itself",
    "memory": "its compulsory bytes through device memory",
    "compute": "its compulsory operations",
}
