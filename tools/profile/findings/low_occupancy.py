"""Few warps fit on a multiprocessor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, percent
from ..subject import Subject

_ENOUGH_PCT: Final = 50.0
"""Above this, more warps rarely help."""

_FIXES: Final = {
    "registers": ("fewer_registers", "launch_bounds", "smaller_tile"),
    "shared memory": ("less_shared_memory", "smaller_tile"),
    "blocks": ("larger_blocks",),
    "warps": ("smaller_blocks",),
}


class LowOccupancy(Rule):
    """Registers, shared memory or the block size let few warps be resident, and nothing hides their waiting.

    Applies under 50 % theoretical occupancy of a grid that would fill the GPU, while both throughputs leave room. The
    bound is full ÷ theoretical occupancy, at most 100 ÷ the busiest throughput.
    """

    name = "low_occupancy"
    strategies = ("fewer_registers", "smaller_tile", "larger_blocks", "launch_bounds")
    reads = ("registers_per_thread", "shared_bytes_per_block", "sm_throughput_pct", "memory_throughput_pct")
    stalls = ("long_scoreboard", "wait")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            place = kernel.occupancy
            if place is None or not 0 < place.pct < _ENOUGH_PCT or kernel.busiest_pct is None:
                continue
            if kernel.blocks < subject.gpu.multiprocessors * place.blocks_per_sm:
                continue
            threads = f", of {kernel.threads_per_block} threads each," if place.limiter in ("blocks", "warps") else ""
            achieved = kernel.get("achieved_occupancy_pct")
            yield self.finding(
                f"Only {place.warps_per_sm} of {subject.gpu.warps_per_sm} warps fit on a multiprocessor, limited by "
                f"{place.limiter}.",
                f"theoretical occupancy {place.pct:.0f} %: {place.blocks_per_sm} blocks{threads} per multiprocessor"
                + (f", achieved {achieved:.0f} %" if achieved is not None else "")
                + f"; busiest throughput {percent(kernel.busiest_pct / 100)}",
                subject.amdahl(kernel, min(100 / place.pct, kernel.headroom())),
                kernel,
                strategies=_FIXES[place.limiter],
            )
