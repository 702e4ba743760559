"""Coalesced, but one small element per instruction."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule, percent
from ..subject import MEMORY_STALLS, SECTOR_BYTES, Kernel, Subject, at_most
from .uncoalesced_access import bytes_per_sector


class NarrowLoads(Rule):
    """Contiguous data are loaded one element per instruction where 16 bytes would do: too few bytes in flight.

    Applies to coalesced loads of no more sectors per request than scalar accesses touch, in a kernel that re-reads
    nothing. The bound is 16 bytes ÷ the element on the fraction of time that warps wait for memory, at most 100 ÷
    device memory's throughput.
    """

    name = "narrow_loads"
    strategies = ("vectorize", "unroll", "restrict_readonly")
    reads = (
        "global_load_sectors",
        "global_load_requests",
        "global_load_bytes_per_sector",
        "global_load_bytes",
        "dram_throughput_pct",
    )
    stalls = ("long_scoreboard",)

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            per_request = kernel.ratio("global_load_sectors", "global_load_requests")
            useful, sectors = bytes_per_sector(kernel, "load"), kernel.get("global_load_sectors")
            busy = kernel.get("dram_throughput_pct")
            if per_request is None or useful is None or sectors is None or not busy:
                continue
            bits = widest_load(kernel)
            if useful < 0.9 * SECTOR_BYTES or per_request > 1.15 * subject.itemsize or (bits or 0) >= 128:
                continue
            if per_request < 0.6 * subject.itemsize or sectors * SECTOR_BYTES > 2 * subject.min_bytes:
                continue
            waiting = kernel.stall(*MEMORY_STALLS)
            gain = subject.amdahl(kernel, 16 / subject.itemsize, at_most(waiting))
            width = f"{8 * subject.itemsize}-bit"
            yield self.finding(
                f"The loads are coalesced but {width}: 128-bit accesses would move the same bytes with "
                f"{16 // subject.itemsize} times fewer instructions.",
                f"{per_request:.1f} sectors per load request, device memory {percent(busy / 100)} busy",
                min(gain, subject.amdahl(kernel, 100 / busy)),
                kernel,
            )


def widest_load(kernel: Kernel) -> int | None:
    """Return the width in bits of most global loads in the machine code; None without machine code."""
    if kernel.sass is None or not kernel.sass.load_bits:
        return None
    return max(kernel.sass.load_bits, key=lambda bits: kernel.sass.load_bits[bits] if kernel.sass else 0)
