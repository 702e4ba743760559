"""Logarithms that are added up: the fast one, except near 1."""

from __future__ import annotations

from typing import ClassVar

from ..emit import helper_name, with_helper
from ..rule import KernelRule, Setting
from ..syntax import Kernel, edited, text, walk
from .row_cooperative import combines

LOGARITHM = """\
// The fast logarithm errs by 3 units in the last place, but near 1 by more than a logarithm close to 0 may.
static __device__ __forceinline__ float {name}(float value) {{
    if (value > 0.5f) {{
        if (value < 2.0f) return logf(value);
    }}
    return __logf(value);
}}
"""


class LogInSums(KernelRule):
    """`sum += … logf(x) …` over a loop: the hardware's logarithm where its relative error is as small as any."""

    name: ClassVar[str] = "log_in_sums"
    answers: ClassVar[tuple[str, ...]] = ("special_function_bound", "instruction_bound")
    worth: ClassVar[float] = 1.43
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = (
        "an exact logarithm takes some 25 instructions, and a sum of many rounds off more than it saves: the fast one "
        "errs by 3 units in the last place but for arguments between 1/2 and 2, which keep the exact one"
    )
    effect: ClassVar[str] = "a fifth of the instructions for most logarithms"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Rewrite the logarithms in what a loop of a kernel adds up in a float."""
        source = kernel.source
        edits: list[tuple[int, int, str]] = []
        helper = helper_name(source, "log_term", LOGARITHM)
        for loop in walk(kernel.body):
            body = loop.child_by_field_name("body") if loop.type == "for_statement" else None
            for added in walk(body) if body is not None else ():
                target = text(added.child_by_field_name("left")) if added.type == "assignment_expression" else ""
                if body is None or kernel.declared.get(target) != "float" or combines(body, target) != "sum":
                    continue
                for call in walk(added):
                    called = call.child_by_field_name("function") if call.type == "call_expression" else None
                    if called is not None and text(called) == "logf":
                        edits.append((called.start_byte, called.end_byte, helper))
        return with_helper(edited(source.text, set(edits)), helper, LOGARITHM) if edits else None
