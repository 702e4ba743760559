"""Many threads add to one address, one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, percent, times
from ..subject import Kernel, Subject

_ATOMIC: Final = r"\batomic(?:Add|Sub|Max|Min|Or|And|Xor|CAS|Exch)\w*\s*\("
_INDEXED: Final = _ATOMIC + r"[^,;]*(?:\[\s*[^\]\d\s][^\]]*\]|\w\s*\+)"
"""An atomic whose address depends on a variable."""

ATOMIC_US: Final = 1.75e-3
"""Time of one of many FP32 additions to one address: 262,144 of them took 463 us on an H200."""

_MOST: Final = 0.5

_SERIAL_PER_US: Final = 4e3
"""Atomics on scattered addresses run many times faster than this; on one address they can't."""


class SameAddressAtomics(Rule):
    """Every thread updates the same few addresses; the L2 does those updates one after another.

    On a GPU it applies when the atomics run at the pace of a single address, warps wait for them, and the source does
    not show addresses that vary; on the cpu device when most atomics hit one address. The bound takes away
    the fraction of time that the atomics take; all of it, if that is most.
    """

    name = "same_address_atomics"
    strategies = ("block_reduce", "warp_shuffle_reduce", "privatize_histogram")
    reads = (
        "global_reductions",
        "global_reduction_sectors",
        "global_atomics",
        "global_atomic_sectors",
        "atomics",
        "same_address_atomics",
        "duration_us",
    )
    stalls = ("drain", "lg_throttle", "long_scoreboard", "membar")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            line = kernel.source.line_of(_ATOMIC) if kernel.source else None
            scattered = kernel.source is not None and kernel.source.uses(_INDEXED)
            serial = _counted(kernel) or (None if scattered else _measured(kernel))
            if serial is None:
                continue
            operations, fraction, evidence = serial
            if operations <= 2 * sum(math.prod(launch.grid) for launch in kernel.launches):
                continue  # one per block already
            # Where the queue takes most of the time, nothing else shows: all of it may go.
            gone = 1.0 if fraction > _MOST else fraction
            yield self.finding(
                f"{times(operations)} atomic operations queue up on the same address: add up within each block first, "
                "then once per block.",
                evidence,
                subject.amdahl(kernel, 1e6, gone),
                kernel,
                line,
            )


def _counted(kernel: Kernel) -> tuple[float, float, str] | None:
    """The cpu device's own count of the most used address."""
    same, whole, us = kernel.get("same_address_atomics"), kernel.get("atomics"), kernel.get("duration_us")
    if not same or not whole or not us or same < 64 or same < 0.25 * whole:
        return None
    fraction = min(1.0, same * ATOMIC_US / us)
    return same, fraction, f"{times(same)} of {times(whole)} atomics hit one address, {percent(fraction)} of the time"


def _measured(kernel: Kernel) -> tuple[float, float, str] | None:
    """What Nsight Compute shows of it: 32 operations per request, the pace of one address, and warps that wait."""
    us = kernel.get("duration_us")
    requests = (kernel.get("global_reductions") or 0.0) + (kernel.get("global_atomics") or 0.0)
    operations = (kernel.get("global_reduction_sectors") or 0.0) + (kernel.get("global_atomic_sectors") or 0.0)
    waiting = kernel.stall("drain", "lg_throttle", "long_scoreboard", "membar")
    if not us or not requests or operations < 64 or waiting is None:
        return None
    fraction = max(waiting, min(1.0, operations * ATOMIC_US / us))
    if operations / us > _SERIAL_PER_US or operations * ATOMIC_US < 0.2 * us:
        return None
    evidence = (
        f"{times(operations)} operations of {times(requests)} requests in {us:.1f} us, "
        f"{1e3 * us / operations:.1f} ns each; "
        f"{percent(waiting)} of the time warps wait for them"
    )
    return operations, fraction, evidence
