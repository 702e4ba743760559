"""The kernel moves the same data again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, times
from ..roofline import best_tflops
from ..subject import MEMORY_STALLS, SECTOR_BYTES, Kernel, Subject, at_most
from .redundant_threads import redundancy
from .uncoalesced_access import bytes_per_sector

_CACHED: Final = 3.0
"""Times the compulsory bytes that threads use, before it counts."""
_DRAM: Final = 1.4
"""Times the compulsory bytes through device memory, before it counts."""


class ExcessTraffic(Rule):
    """Traffic is far above the compulsory bytes: data are read again and again instead of being kept on the chip.

    Applies when one launch moves over 1.4 times the compulsory bytes (each input once, each output once) through
    device memory, or its threads use 3 times as many. The bound takes the excess away from the fraction of time that
    memory is busy or waited for, and is never more than the algorithm's own multiply-adds let through; unused bytes,
    redundant threads and local memory have findings of their own.
    """

    name = "excess_traffic"
    strategies = ("tile_shared", "tile_registers", "online_algorithm")
    reads = (
        "dram_read_bytes",
        "dram_write_bytes",
        "dram_throughput_pct",
        "global_load_sectors",
        "global_store_sectors",
        "memory_throughput_pct",
    )
    stalls = ("long_scoreboard", "lg_throttle")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the kernel that moves most."""
        if not subject.min_bytes:
            return
        for kernel in subject.kernels[:1]:
            both = [found for found in (_dram(kernel, subject), _cached(kernel, subject)) if found]
            if both:
                gain, evidence = max(both)
                gain = min(gain, _with_this_algorithm(subject))
                yield self.finding(
                    f"Inputs are read again and again: {evidence}. Tile them in shared memory or registers.",
                    f"compulsory {subject.min_bytes / 1e6:.3g} MB at {subject.case.name}",
                    gain,
                    kernel,
                )


def _with_this_algorithm(subject: Subject) -> float:
    """Return the most that tiling gains: the algorithm's multiply-adds stay, at the best rate there is."""
    rate = best_tflops(subject.task, subject.precision, subject.gpu) * 1e6
    least_us = 2 * subject.task.complexity(subject.case.sizes) / rate
    return subject.call_us / least_us if subject.call_us and least_us else math.inf


def _dram(kernel: Kernel, subject: Subject) -> tuple[float, str] | None:
    read, busy = kernel.get("dram_read_bytes"), kernel.get("dram_throughput_pct")
    if read is None or busy is None:
        return None
    moved = (read + (kernel.get("dram_write_bytes") or 0.0)) / len(kernel.launches)
    factor = moved / subject.min_bytes
    if factor < _DRAM:
        return None
    return subject.amdahl(
        kernel, factor, busy / 100
    ), f"{times(factor)}x the compulsory bytes pass through device memory"


def _cached(kernel: Kernel, subject: Subject) -> tuple[float, str] | None:
    loads, stores = kernel.get("global_load_sectors"), kernel.get("global_store_sectors")
    if loads is None or stores is None:
        return None
    # Unused bytes of sectors and redundant threads have findings of their own.
    used = loads * (bytes_per_sector(kernel, "load") or SECTOR_BYTES)
    used += stores * (bytes_per_sector(kernel, "store") or SECTOR_BYTES)
    factor = used / redundancy(kernel) / len(kernel.launches) / subject.min_bytes
    if factor < _CACHED:
        return None
    waiting, busy = kernel.stall(*MEMORY_STALLS), kernel.get("memory_throughput_pct")
    fractions = [f for f in (waiting, None if busy is None else busy / 100) if f is not None]
    local = (kernel.get("local_load_sectors") or 0.0) + (kernel.get("local_store_sectors") or 0.0)
    share = (loads + stores) / (loads + stores + local)
    gain = subject.amdahl(kernel, factor, share * at_most(max(fractions, default=None)))
    return gain, f"threads use {times(factor)}x the compulsory bytes"
