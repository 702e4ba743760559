"""Threads or blocks repeat what others do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule, percent, times
from ..subject import Kernel, Subject

_HELPERS = r"cooperative_groups|this_thread_block|this_grid|cub::|%tid|%ctaid"
_TICKET = r"=\s*atomic(?:Add|Inc|Sub|Dec)\s*\("
"""Blocks that draw a number from a counter need no index of their own."""


class RedundantThreads(Rule):
    """Threads that do nothing new: an axis that the kernel never reads, or threads seen idle or repeating.

    The bound is all threads ÷ those that do something of their own.
    """

    name = "redundant_threads"
    strategies = ("use_all_threads", "grid_stride_full_grid")
    reads = ("redundant_threads", "threads")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            unread = _unread_axes(kernel)
            if unread:
                factor = math.prod(size for _, size in unread)
                axes = " and ".join(f"{axis} (extent {size})" for axis, size in unread)
                yield self.finding(
                    f"The kernel never reads {axes}: {times(factor)} copies of every thread do the same work.",
                    f"grid {kernel.largest.grid}, block {kernel.largest.block}",
                    subject.amdahl(kernel, factor),
                    kernel,
                )
                continue
            share = kernel.ratio("redundant_threads", "threads")
            if share is not None and 0.25 <= share < 1:
                yield self.finding(
                    f"{percent(share)} of the threads do nothing of their own.",
                    f"{times(kernel.get('redundant_threads') or 0)} of {times(kernel.get('threads') or 0)} threads",
                    subject.amdahl(kernel, 1 / (1 - share)),
                    kernel,
                )


def redundancy(kernel: Kernel) -> float:
    """Return how many times each thread's work is done over; 1 where nothing shows that it is."""
    return float(math.prod(size for _, size in _unread_axes(kernel)))


def _unread_axes(kernel: Kernel) -> list[tuple[str, int]]:
    """Return the axes longer than 1 that the body never mentions; none if the source is unknown or hides indices."""
    source = kernel.source
    if source is None or source.uses(_HELPERS) or not source.uses(r"\bthreadIdx\b|\bblockIdx\b"):
        return []
    if source.uses(r"\b(?:threadIdx|blockIdx)\b(?!\s*\.\s*[xyz])"):
        return []
    largest = kernel.largest
    named = [(f"threadIdx.{a}", largest.block[i]) for i, a in enumerate("xyz")]
    if not source.uses(_TICKET):
        named = [(f"blockIdx.{a}", largest.grid[i]) for i, a in enumerate("xyz")] + named
    return [(axis, size) for axis, size in named if size > 1 and not source.uses(rf"\b{axis[:-2]}\s*\.\s*{axis[-1]}\b")]
