"""The schedulers issue instructions most of the time, and few of them are the task's own work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, times
from ..subject import Subject

_BUSY_PCT: Final = 60.0
_FAIR: Final = 8.0
"""Thread instructions per compulsory operation or element that lean code spends at most."""
_DOUBLE_PCT: Final = 5.0


class InstructionBound(Rule):
    """Instructions set the pace: address arithmetic, divisions, loop counters, slow paths of functions.

    Applies when the issue slots are at least 60 % busy and busier than memory, with more than 8 thread instructions
    per compulsory operation or element, and double precision is not to blame. The bound is what memory alone would
    take: 100 ÷ its throughput.
    """

    name = "instruction_bound"
    strategies = ("hoist", "cheaper_function", "vectorize", "unroll", "fast_math")
    reads = (
        "issue_slots_busy_pct",
        "memory_throughput_pct",
        "instructions",
        "threads_per_instruction",
        "fp64_pipe_pct",
    )
    stalls = ("math_pipe_throttle", "dispatch_stall", "not_selected", "wait")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        needed = max(float(subject.task.min_flops(subject.case.sizes)), subject.min_elements)
        for kernel in subject.kernels:
            busy, memory, instructions, active = (kernel.get(name) for name in self.reads[:4])
            if busy is None or memory is None or instructions is None or active is None:
                continue
            each = instructions * active / max(1.0, needed)
            if busy < _BUSY_PCT or busy < memory or each <= _FAIR or (kernel.get("fp64_pipe_pct") or 0.0) > _DOUBLE_PCT:
                continue
            yield self.finding(
                f"Instructions set the pace, not memory: {times(each)} for each operation or element that the task "
                "needs; compute addresses and loop bounds less often, and in 32 bits.",
                f"issue slots {busy:.0f} % busy, memory {memory:.0f} %",
                subject.amdahl(kernel, 100 / max(memory, 1.0)),
                kernel,
            )
