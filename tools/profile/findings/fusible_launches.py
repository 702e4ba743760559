"""Several long launches pass data through device memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, times
from ..subject import SATURATED_PCT, Subject, at_most
from ..totals import total

_MORE: Final = 1.3
"""Times the compulsory bytes, before it counts."""


class FusibleLaunches(Rule):
    """Several launches move more through device memory than inputs and outputs: what one writes for the next.

    Applies when the launches are longer than the overhead and move over 1.3 times the compulsory bytes. The bound takes
    that excess away from the fraction of time that device memory is busy.
    """

    name = "fusible_launches"
    strategies = ("fuse_launches", "online_algorithm", "recompute_instead_of_store")
    reads = ("duration_us", "dram_read_bytes", "dram_write_bytes", "dram_throughput_pct")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the whole call."""
        launches = len(subject.profile.launches)
        if launches < 2 or subject.time_us is None or subject.time_us / launches <= 2 * subject.gpu.empty_launch_us:
            return
        traffic = [
            launch.metrics[name].value if name in launch.metrics else None
            for launch in subject.profile.launches
            for name in ("dram_read_bytes", "dram_write_bytes")
        ]
        if any(value is None for value in traffic):
            return
        moved = sum(value for value in traffic if value is not None)
        factor = moved / max(1, subject.min_bytes)
        if factor < _MORE:
            return
        busy = total(subject.profile, "dram_throughput_pct")
        waiting = at_most(None if busy is None else busy / SATURATED_PCT)
        names = list(dict.fromkeys(launch.kernel for launch in subject.profile.launches))
        yield self.finding(
            f"{launches} launches pass intermediate results through device memory; fused, they would stay on the chip.",
            f"{moved / 1e6:.1f} MB moved by {', '.join(names[:4])}, {times(factor)}x "
            "the compulsory "
            f"{subject.min_bytes / 1e6:.1f} MB",
            1 / (1 - waiting + waiting / factor),
        )
