"""Launches and synchronisations cost more than the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, percent, times
from ..source import host_code
from ..subject import Subject

_BLOCKING: Final = r"\b(cudaDeviceSynchronize|cudaStreamSynchronize|cudaMalloc|cudaFree|cudaMemcpy)\s*\("


class LaunchOrSyncBound(Rule):
    """The call's time is mostly launch overhead: the kernels are shorter than twice an empty launch.

    Applies to the mean duration of the call's launches, or to host calls in the source that block. The bound is the
    call's time, with each launch costing at least an empty one, ÷ the larger of one empty launch and the floor of the
    work.
    """

    name = "launch_or_sync_bound"
    strategies = ("fuse_launches", "remove_host_sync")
    reads = ("duration_us",)

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the whole call."""
        import re

        launches = len(subject.profile.launches)
        if subject.time_us is None or subject.call_us is None or not launches:
            return
        empty = subject.gpu.empty_launch_us
        blocking = re.search(_BLOCKING, host_code(subject.source))
        mean = subject.time_us / launches
        if mean > 2 * empty or (launches == 1 and not blocking):
            return
        bound = subject.call_us / max(empty, subject.floor.work_us)
        host = f"; the host code calls {blocking[1]}" if blocking else ""
        yield self.finding(
            f"The call is bound by launches, not by work: {launches} launches of {mean:.1f} us each, where an "
            "empty one costs "
            f"{empty:.1f} us.",
            f"{percent(min(1.0, launches * empty / subject.call_us))} of the call is launch overhead, "
            f"{times(bound)}x the cost of a single launch{host}",
            bound,
            line=subject.source.count("\n", 0, blocking.start()) + 1 if blocking else None,
        )
