"""Arithmetic that is in double by accident, in float."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..rule import Rule, Setting
from ..syntax import Source, edited, text, walk

FUNCTIONS = {
    "exp": "expf", "log": "logf", "sqrt": "sqrtf", "fabs": "fabsf", "pow": "powf", "tanh": "tanhf", "erf": "erff",
    "sin": "sinf", "cos": "cosf", "fmax": "fmaxf", "fmin": "fminf", "exp2": "exp2f", "log2": "log2f", "log1p": "log1pf",
    "expm1": "expm1f", "floor": "floorf", "ceil": "ceilf", "rsqrt": "rsqrtf", "fma": "fmaf", "atan": "atanf",
}  # fmt: skip


class FloatLiterals(Rule):
    """`0.5` is a double and drags its whole expression along: `0.5f`, and float functions."""

    name: ClassVar[str] = "float_literals"
    answers: ClassVar[tuple[str, ...]] = ("accidental_double",)
    worth: ClassVar[float] = 1.5
    metric: ClassVar[str] = "fp64_pipe_pct"
    why: ClassVar[str] = (
        "a double constant or function makes an expression on float data double, which runs at a fraction of the float "
        "rate: float literals and float functions give the same to within the rounding of the result"
    )
    effect: ClassVar[str] = "no double-precision instruction is left"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Rewrite device code that declares no double itself."""
        edits: list[tuple[int, int, str]] = []
        for node in source.functions.values():
            if not any(c.type in ("__global__", "__device__") for c in node.children):
                continue
            if not re.search(r"\bdouble\b", text(node)):
                edits += self._function(node)
        return edited(source.text, edits)

    @staticmethod
    def _function(function: Node) -> list[tuple[int, int, str]]:
        edits = []
        for node in walk(function):
            if node.type == "number_literal" and re.fullmatch(
                r"(\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?", text(node)
            ):
                edits.append((node.end_byte, node.end_byte, "f"))
            if node.type == "call_expression":
                called = node.child_by_field_name("function")
                name = text(called)
                if called is not None and called.type == "identifier" and name in FUNCTIONS:
                    edits.append((called.start_byte, called.end_byte, FUNCTIONS[name]))
        return edits
