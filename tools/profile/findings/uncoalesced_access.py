"""The threads of a warp touch scattered sectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, times
from ..subject import MEMORY_STALLS, SECTOR_BYTES, Kernel, Subject, at_most

_SCATTERED: Final = 1.3
"""Times the sectors that a warp needs at least, before it counts."""


class UncoalescedAccess(Rule):
    """Loads or stores of a warp spread over many 32-byte sectors and use a part of each.

    Applies when the accesses of a direction touch at least 1.3 times the sectors that adjacent elements would, and
    use at most three quarters of each sector. The bound makes the fraction of time that warps wait for memory faster
    by the unused factor.
    """

    name = "uncoalesced_access"
    strategies = ("coalesce", "transpose_through_shared", "structure_of_arrays")
    reads = (
        "global_load_sectors",
        "global_load_requests",
        "global_load_bytes_per_sector",
        "global_load_bytes",
        "global_store_sectors",
        "global_store_requests",
        "global_store_bytes_per_sector",
        "global_store_bytes",
    )
    stalls = ("long_scoreboard", "lg_throttle", "drain")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel: the worse of loads and stores."""
        for kernel in subject.kernels:
            both = [found for way in ("load", "store") if (found := self._of(kernel, way, subject))]
            if both:
                yield max(both, key=lambda finding: finding.bound)

    def _of(self, kernel: Kernel, way: str, subject: Subject) -> Finding | None:
        sectors, requests = kernel.get(f"global_{way}_sectors"), kernel.get(f"global_{way}_requests")
        useful = bytes_per_sector(kernel, way)
        if not sectors or not requests or useful is None or useful <= 0:
            return None
        per_request = sectors / requests
        if useful > 0.75 * SECTOR_BYTES or per_request < _SCATTERED * subject.itemsize:
            return None
        others = sum(kernel.get(f"global_{w}_sectors") or 0.0 for w in ("load", "store"))
        waiting = kernel.stall(*MEMORY_STALLS)
        share = sectors / others
        # Where most sectors are these, the rest waits behind them.
        fraction = at_most(waiting) * (1.0 if share > 0.5 else share)
        factor = SECTOR_BYTES / useful
        verb = "reads" if way == "load" else "writes"
        return self.finding(
            f"Each warp-wide {way} {verb} {per_request:.0f} sectors and uses {useful:.0f} of every 32 bytes: "
            "neighbouring "
            f"threads should touch neighbouring addresses.",
            f"{times(sectors)} sectors for {times(requests)} requests, {times(factor)}x the traffic needed",
            subject.amdahl(kernel, factor, fraction),
            kernel,
        )


def bytes_per_sector(kernel: Kernel, way: str) -> float | None:
    """Return the bytes used of each sector, 32 at most; from the bytes that the threads asked for where not counted."""
    direct = kernel.get(f"global_{way}_bytes_per_sector")
    if direct is not None:
        return min(direct, float(SECTOR_BYTES))
    ratio = kernel.ratio(f"global_{way}_bytes", f"global_{way}_sectors")
    return None if ratio is None else min(ratio, float(SECTOR_BYTES))
