"""The algorithm does far more work than the task needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...device.gpu_model import WARP
from ...records import Finding
from ..finding import Rule, times
from ..subject import Subject
from .redundant_threads import redundancy

_FAIR: Final = 64.0
"""Thread instructions per compulsory operation or element that ordinary code spends at most."""
_FAIR_LOADS: Final = 8.0
"""Thread loads per compulsory operation or element that ordinary code spends at most."""


class WastefulAlgorithm(Rule):
    """The work grows faster than the task's lower bound: a sum recomputed per element, a sort of all pairs.

    Applies when executed thread instructions (or, without them, thread loads) exceed 64 (8) per compulsory operation
    or element. The bound is that excess.
    """

    name = "wasteful_algorithm"
    strategies = ("better_algorithm", "scan", "square_and_multiply", "tile_shared")
    reads = ("instructions", "threads_per_instruction", "global_load_requests", "global_load_bytes")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the longest kernel."""
        flops = subject.task.min_flops(subject.case.sizes)
        if not flops:
            return  # nothing is proven, so nothing can be called waste
        needed = max(float(flops), subject.min_elements)
        for kernel in subject.kernels[:1]:
            instructions, active = kernel.get("instructions"), kernel.get("threads_per_instruction")
            asked, requests = kernel.get("global_load_bytes"), kernel.get("global_load_requests")
            if instructions is not None and active is not None:
                done, fair, unit = instructions * active, _FAIR, "thread instructions"
            elif asked is not None:
                done, fair, unit = asked / subject.itemsize, _FAIR_LOADS, "element loads"
            elif requests is not None:
                done, fair, unit = requests * WARP, _FAIR_LOADS, "thread loads"
            else:
                continue
            factor = done / needed / redundancy(kernel)
            if factor <= fair:
                continue
            yield self.finding(
                f"The algorithm is wasteful: {times(factor)} {unit} for each operation or element that the task needs.",
                f"{done:.3g} {unit} where {needed:.3g} operations or elements are compulsory at {subject.case.name}",
                subject.amdahl(kernel, factor / fair * 4),
                kernel,
            )
