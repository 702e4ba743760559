"""What warps wait for, where no other finding says why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, percent
from ..subject import STALLS, Kernel, Subject, at_most

_SHARE: Final = 0.35
_LEAST_GAIN: Final = 1.2
"""A kernel that is nearly at a throughput's peak waits too: for that throughput."""
_WORK_ITSELF: Final = ("barrier", "membar", "mio_throttle", "short_scoreboard")
"""Without these waits the instructions that cause them go too, so that a busy pipe is no limit."""
_HARMLESS: Final = ("not_selected", "wait")

_ADVICE: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "long_scoreboard": (
        "data from global memory that depend on earlier loads",
        ("more_loads_in_flight", "prefetch", "tile_shared"),
    ),
    "short_scoreboard": ("shared memory or special functions", ("more_independent_work", "wider_shared_accesses")),
    "mio_throttle": ("the queue of shared-memory instructions", ("wider_shared_accesses", "tile_registers")),
    "lg_throttle": ("the queue of global-memory instructions", ("vectorize",)),
    "barrier": ("block barriers", ("fewer_barriers", "smaller_blocks", "warp_shuffle_reduce")),
    "drain": ("stores to leave before they exit", ("coalesce", "vectorize")),
    "math_pipe_throttle": ("the arithmetic pipe", ("cheaper_function", "tensor_cores")),
    "membar": ("memory fences", ("fewer_barriers",)),
    "branch_resolving": ("branch targets", ("unroll", "predicate_instead_of_branch")),
    "dispatch_stall": ("the dispatcher", ("more_independent_work",)),
    "imc_miss": ("constants that miss their cache", ("hoist",)),
    "no_instruction": ("instructions to be fetched", ("smaller_code",)),
    "tex_throttle": ("the texture queue", ("vectorize",)),
}


class StallMix(Rule):
    """One stall reason takes over a third of the warps' time, and no other finding explains it.

    The bound removes that reason, at most 100 ÷ the busiest throughput (except where instructions would go with it).
    """

    name = "stall_mix"
    strategies = tuple(dict.fromkeys(s for _, strategies in _ADVICE.values() for s in strategies))
    reads = tuple(f"stall_{reason}_ratio" for reason in _ADVICE)

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel, whatever other findings say."""
        return self.find_unexplained(subject, set())

    def find_unexplained(self, subject: Subject, explained: set[tuple[str, str]]) -> Iterator[Finding]:
        """Yield one finding per kernel for its largest stall, unless (kernel, reason) is explained already."""
        for kernel in subject.kernels:
            reason, share = _largest(kernel)
            if share < _SHARE or (kernel.name, reason) in explained or ("", reason) in explained:
                continue
            room = math.inf if reason in _WORK_ITSELF else kernel.headroom()
            if room < _LEAST_GAIN:
                continue
            what, strategies = _ADVICE[reason]
            yield self.finding(
                f"Warps spend {percent(share)} of their time waiting for {what}.",
                f"stall {reason} {kernel.get(f'stall_{reason}_ratio') or 0.0:.1f} of "
                f"{kernel.get('warp_latency_per_instruction') or 0.0:.1f} cycles between instructions",
                min(subject.amdahl(kernel, 1e6, at_most(share)), subject.amdahl(kernel, room)),
                kernel,
                strategies=strategies,
            )


def _largest(kernel: Kernel) -> tuple[str, float]:
    shares = {reason: kernel.stall(reason) or 0.0 for reason in STALLS if reason not in _HARMLESS}
    reason = max(shares, key=lambda r: shares[r])
    return reason, shares[reason]
