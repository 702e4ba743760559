"""Sine and cosine of one angle, computed together."""

from __future__ import annotations

import re
from typing import ClassVar

from ..rule import Rule, Setting
from ..syntax import Kernel, Source, edited, text, walk


class ShareTrigonometry(Rule):
    """`sinf(x)` and `cosf(x)` each reduce the angle: `sincosf` does it once for both."""

    name: ClassVar[str] = "share_trigonometry"
    answers: ClassVar[tuple[str, ...]] = ("special_function_bound", "stall_mix")
    worth: ClassVar[float] = 1.25
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = "sine and cosine of one angle share the reduction of the angle: compute them in one call"
    effect: ClassVar[str] = "half the instructions of the two calls"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Rewrite every constant of a kernel whose sine and cosine are both taken."""
        edits: list[tuple[int, int, str]] = []
        for kernel in source.kernels:
            code = text(kernel.body)
            for name in kernel.locals if "sinf" in code and "cosf" in code else ():
                edits += self._angle(source, kernel, name)
        return edited(source.text, edits)

    @staticmethod
    def _angle(source: Source, kernel: Kernel, name: str) -> list[tuple[int, int, str]]:
        calls = {
            which: [n for n in walk(kernel.body) if n.type == "call_expression" and _is(text(n), which, name)]
            for which in ("sinf", "cosf")
        }
        place = next(
            (n for n in walk(kernel.body) if n.type == "declaration" and re.search(rf"\b{name}\s*=", text(n))), None
        )
        if not all(calls.values()) or place is None or kernel.declared.get(name) != "float":
            return []
        sine, cosine = source.unique(f"sine_of_{name}"), source.unique(f"cosine_of_{name}")
        margin = " " * place.start_point.column
        both = f"\n{margin}float {sine}, {cosine};\n{margin}sincosf({name}, &{sine}, &{cosine});"
        edits = [(place.end_byte, place.end_byte, both)]
        for which, new in (("sinf", sine), ("cosf", cosine)):
            edits += [(n.start_byte, n.end_byte, new) for n in calls[which]]
        return edits


def _is(code: str, function: str, argument: str) -> bool:
    return re.fullmatch(rf"{function}\(\s*{re.escape(argument)}\s*\)", code) is not None
