"""Lanes of a warp hit the same shared-memory bank."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule, percent, times
from ..subject import SHARED_STALLS, Kernel, Subject, at_most


class BankConflicts(Rule):
    """Shared-memory accesses need several passes because lanes of a warp hit one bank at different addresses.

    Applies when loads or stores need at least 1.5 times the passes that their width needs. The bound removes the
    extra passes from the fraction of time that warps wait for shared memory, or that its data pipe is busy, whichever
    is larger.
    """

    name = "bank_conflicts"
    strategies = ("pad_shared", "swizzle_shared")
    reads = (
        "shared_load_wavefronts",
        "shared_load_requests",
        "shared_store_wavefronts",
        "shared_store_requests",
        "lsu_wavefronts_pct",
    )
    stalls = ("mio_throttle", "short_scoreboard", "barrier")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel: loads and stores together, worst first."""
        for kernel in subject.kernels:
            worst = max(("load", "store"), key=lambda way: kernel.ratio(*_names(way)) or 0.0)
            passes, ideal = kernel.ratio(*_names(worst)), ideal_passes(kernel)
            if passes is None or passes < 1.5 * ideal:
                continue
            waiting, pipe = kernel.stall(*SHARED_STALLS, "barrier"), kernel.get("lsu_wavefronts_pct")
            fractions = [f for f in (waiting, None if pipe is None else pipe / 100) if f is not None]
            fraction = at_most(max(fractions, default=None))
            array = r"__shared__"
            yield self.finding(
                f"Each shared-memory {worst} needs {passes:.0f} passes instead of {ideal:.0f}: the lanes of a warp "
                "hit the same bank.",
                f"{times(kernel.get(_names(worst)[0]) or 0)} wavefronts for "
                f"{times(kernel.get(_names(worst)[1]) or 0)} requests"
                + (f"; {percent(waiting)} of the time warps wait for shared memory" if waiting is not None else ""),
                subject.amdahl(kernel, passes / ideal, fraction),
                kernel,
                kernel.source.line_of(array) if kernel.source else None,
            )


def ideal_passes(kernel: Kernel) -> float:
    """Return the passes that a conflict-free access needs: 1 for 4-byte elements, 2 for 8, 4 for 16 "
    "(from the machine code)."""
    widths = kernel.sass.shared_load_bits if kernel.sass else {}
    if not widths:
        return 4.0 if kernel.source and kernel.source.uses(r"float4|int4|uint4") else 1.0
    return sum(max(1.0, bits / 32) * count for bits, count in widths.items()) / sum(widths.values())


def _names(way: str) -> tuple[str, str]:
    return f"shared_{way}_wavefronts", f"shared_{way}_requests"
