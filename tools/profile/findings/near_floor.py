"""Nothing left to gain."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule
from ..roofline import STOP_WITHIN_PCT, near_floor
from ..subject import Subject


class NearFloor(Rule):
    """The call is within 15 % of its floor: the larger of the compulsory work at best rates and an empty launch.

    The bound is the time ÷ the floor. The advice is to stop.
    """

    name = "near_floor"
    strategies = ("stop",)
    reads = ("duration_us",)

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the whole call."""
        if subject.call_us is None or not near_floor(subject.call_us, subject.floor):
            return
        bound = subject.floor
        yield self.finding(
            f"The call is within {STOP_WITHIN_PCT:.0f} % of its floor, set by {_LIMITS[bound.limiter]}: stop here.",
            f"{subject.call_us:.1f} us against a floor of {bound.time_us:.1f} us",
            subject.call_us / bound.time_us,
        )


_LIMITS = {
    "launch": "the launch itself",
    "memory": "its compulsory bytes through device memory",
    "compute": "its compulsory operations",
}
