"""Warps execute instructions with most of their threads switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...device.gpu_model import WARP
from ...records import Finding
from ..finding import Rule, percent
from ..subject import Subject

_FEW: Final = 24.0


class DivergentThreads(Rule):
    """The threads of a warp take different branches or loop counts, so its instructions run with few active threads.

    Applies under 24 of 32 active threads per instruction. The bound is 32 ÷ that.
    """

    name = "divergent_threads"
    strategies = ("warp_per_item", "balance_work", "predicate_instead_of_branch", "sort_by_length")
    reads = ("threads_per_instruction",)
    stalls = ("branch_resolving",)

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            active = kernel.get("threads_per_instruction")
            if active is None or not 0 < active < _FEW or kernel.threads_per_block < WARP:
                continue
            line = kernel.source.line_of(r"\b(?:if|while|for)\s*\(") if kernel.source else None
            yield self.finding(
                f"On average {active:.0f} of 32 threads of a warp are active: branches or loop lengths differ within "
                "warps.",
                f"{active:.1f} active threads per instruction, {percent(active / WARP)} of what the instructions "
                "could do",
                subject.amdahl(kernel, WARP / active),
                kernel,
                line,
            )
