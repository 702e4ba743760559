"""One spelling for what can be written in several ways, so that rules need to know only one."""

from __future__ import annotations

from functools import lru_cache

from .inline import inlined
from .limits import OPPOSITE
from .macros import expanded
from .syntax import comparisons, edited, parsed, statements, text, walk


@lru_cache(maxsize=64)
def plain(source: str) -> str:
    """Write out macros and small helpers; say `i >= n + 1` where a thread leaves at `i > n`."""
    source = inlined(expanded(source))
    edits = []
    for kernel in parsed(source).kernels:
        for node in walk(kernel.body):
            if node.type != "if_statement":
                continue
            leaves = [n.type for n in statements(node.child_by_field_name("consequence"))] == ["return_statement"]
            condition = node.child_by_field_name("condition")
            test = condition.child_by_field_name("value") if condition is not None else None
            operator = test.child_by_field_name("operator") if test is not None else None
            bound = test.child_by_field_name("right") if test is not None else None
            if leaves and operator is not None and bound is not None and text(operator) == ">":
                edits.append((operator.start_byte, operator.end_byte, ">="))
                edits.append((bound.start_byte, bound.end_byte, f"{text(bound)} + 1"))
    return edited(source, edits)


@lru_cache(maxsize=64)
def leaving(source: str) -> str:
    """Say `if (i >= n || j < 1) return; …` where all that a kernel does is `if (i < n && j >= 1) { … }`."""
    source = plain(source)
    edits = []
    for kernel in parsed(source).kernels:
        *before, last = kernel.statements or (kernel.body,)
        alone = last.type == "if_statement" and all(n.type == "declaration" for n in before)
        if not alone or last.child_by_field_name("alternative") is not None:
            continue
        inner = last.child_by_field_name("consequence")
        parts = comparisons(last.child_by_field_name("condition"), "&&") or []
        told = [tuple(text(part.child_by_field_name(side)) for side in ("left", "operator", "right")) for part in parts]
        if (
            inner is None
            or inner.type != "compound_statement"
            or not told
            or any(s not in OPPOSITE for _, s, _ in told)
        ):
            continue
        leave = " || ".join(f"{left} {OPPOSITE[sign]} {right}" for left, sign, right in told)
        edits.append((last.start_byte, inner.start_byte + 1, f"if ({leave}) return;"))
        edits.append((inner.end_byte - 1, last.end_byte, ""))
    return edited(source, edits)
