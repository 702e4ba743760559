"""The special-function units set the pace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule
from ..subject import Kernel, Subject

_BUSY_PCT: Final = 50.0
_DOUBLE_PCT: Final = 5.0
_OTHERS: Final = ("dram_throughput_pct", "fma_pipe_pct", "alu_pipe_pct", "lsu_pipe_pct")


class SpecialFunctionBound(Rule):
    """exp, log, sin, tanh, division and conversions share one slow pipe, and it is the busiest part of the kernel.

    Applies when that pipe is at least half busy and busier than everything else. The bound is its load ÷ the next
    busiest part's.
    """

    name = "special_function_bound"
    strategies = ("cheaper_function", "polynomial_instead_of_special", "hoist", "fast_math")
    reads = (
        "xu_pipe_pct",
        "dram_throughput_pct",
        "fma_pipe_pct",
        "alu_pipe_pct",
        "lsu_pipe_pct",
        "special_ops",
        "duration_us",
    )
    stalls = ("mio_throttle", "short_scoreboard")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            busy = _load_pct(kernel, subject)
            others = [value for name in _OTHERS if (value := kernel.get(name)) is not None]
            if (kernel.get("fp64_pipe_pct") or 0.0) > _DOUBLE_PCT:
                continue  # that pipe converts to and from double
            if busy is None or busy < _BUSY_PCT or not others or busy <= max(others):
                continue
            line = (
                kernel.source.line_of(r"\b__?\w*(?:exp|log|sin|cos|tan|pow|rsqrt|sqrt|div)\w*\s*\(")
                if kernel.source
                else None
            )
            yield self.finding(
                "The special-function units are the busiest part: fewer or cheaper exp, log, sin, tanh and divisions.",
                f"special-function pipe {busy:.0f} % busy, next busiest part {max(others):.0f} %",
                subject.amdahl(kernel, busy / max(kernel.get("dram_throughput_pct") or 0.0, 1.0)),
                kernel,
                line,
            )


def _load_pct(kernel: Kernel, subject: Subject) -> float | None:
    busy = kernel.get("xu_pipe_pct")
    if busy is not None:
        return busy
    calls, us = kernel.get("special_ops"), kernel.get("duration_us")
    if calls is None or not us:
        return None
    return min(100.0, 100 * calls / subject.gpu.special_ops_per_second * 1e6 / us)
