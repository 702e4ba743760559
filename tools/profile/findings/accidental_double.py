"""Double precision in a computation that stores float or bf16."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...records import Finding
from ..finding import Rule, percent
from ..subject import Kernel, Subject

_LITERAL: Final = r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_FUNCTION: Final = r"(?<![\w:.])(?:exp|log|erf|sqrt|sin|cos|tanh|pow|fabs|floor|ceil|fmax|fmin)\s*\("
_DOUBLE: Final = rf"\bdouble\b|{_LITERAL}"
_DOUBLE_CALL_FLOPS: Final = 40.0
"""Operations of one double-precision function, about: erf, exp and log take 30 to 60."""


class AccidentalDouble(Rule):
    """Double precision by accident: a literal without `f`, or a `double` function, promotes the expression around it.

    Applies when the double pipe works, the machine code has double instructions, or the cpu device counts double
    functions. The bound takes away the fraction of time that they need at the GPU's double rate.
    """

    name = "accidental_double"
    strategies = ("float_literals", "cheaper_function")
    reads = ("fp64_pipe_pct", "double_ops", "duration_us")
    stalls = ("math_pipe_throttle", "short_scoreboard")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            found = _fraction(kernel, subject)
            if found is None or found[0] <= 0.02:
                continue
            fraction, evidence = found
            line = None
            if kernel.source:
                line = kernel.source.line_of(_DOUBLE) or kernel.source.line_of(_FUNCTION)
            slow = subject.gpu.fp32_tflops / subject.gpu.fp64_tflops
            yield self.finding(
                f"{kernel.name} computes in double precision, {slow:.0f} times slower than float here, though it "
                "stores "
                f"{'float' if subject.itemsize == 4 else 'bf16'}: write `1.0f`, `expf`, not `1.0`, `exp`.",
                evidence,
                subject.amdahl(kernel, 1e6, fraction),
                kernel,
                line,
            )


def _fraction(kernel: Kernel, subject: Subject) -> tuple[float, str] | None:
    """Return the fraction of time that double precision takes, and how it is known."""
    ratio = subject.gpu.fp32_tflops / subject.gpu.fp64_tflops
    static = None
    if kernel.sass is not None and kernel.sass.double:
        weight = kernel.sass.double * ratio
        rest = kernel.sass.instructions - kernel.sass.double
        static = weight / (weight + rest), f"{kernel.sass.double} of {kernel.sass.instructions} instructions are double"
    busy = kernel.get("fp64_pipe_pct")
    if busy is not None:
        # Each trip to double and back is two conversions, which the special-function pipe does.
        converting = (kernel.get("xu_pipe_pct") or 0.0) if busy > 2 else 0.0
        share = max(busy / 100, converting / 100, static[0] if static and busy > 2 else 0.0)
        return min(share, 0.98), f"double-precision pipe {busy:.0f} % busy" + (f"; {static[1]}" if static else "")
    if static:
        return static
    calls, us = kernel.get("double_ops"), kernel.get("duration_us")
    if calls and us:
        share = calls * _DOUBLE_CALL_FLOPS / (subject.gpu.fp64_tflops * 1e6) / us
        return min(
            share, 0.98
        ), f"{calls:.0f} calls of double-precision functions, {percent(min(share, 0.98))} of the time"
    return None
