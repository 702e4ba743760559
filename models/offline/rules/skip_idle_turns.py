"""A loop in which only every k-th turn has work: go in steps of k, and load for several turns at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, indented
from ..loops import ParallelLoop, effects_known, parallel_loops
from ..rule import KernelRule, Setting
from ..syntax import (
    SIZES,
    Kernel,
    calls,
    code_only,
    comparisons,
    declared_name,
    edited,
    squeezed,
    statements,
    text,
    walk,
)
from .row_cooperative import combines

_WHOLE = ("int", "long long", "long")

TURNS = 8
"""Turns whose loads are under way at once."""


@dataclass(frozen=True)
class Part:
    """One `if` of the loop's body: the turns that have work in it, and what they do."""

    node: Node = field(repr=False)
    every: int
    """It has work in every so many turns."""
    only: str
    """The one turn that has work, as an expression; empty if there are many."""
    condition: str
    body: tuple[Node, ...] = field(repr=False)
    loads: tuple[tuple[str, str], ...]
    """What it loads, by type and text."""


class SkipIdleTurns(KernelRule):
    """`if (i % k == 0 && …)` in a loop over i: step by k; `if (i == last)`: one thread does it."""

    name: ClassVar[str] = "skip_idle_turns"
    answers: ClassVar[tuple[str, ...]] = ("divergent_threads", "stall_mix", "redundant_threads")
    worth: ClassVar[float] = 1.35
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "most threads of a warp are idle because only every k-th turn has work, and a turn's loads wait behind its "
        "test: deal out only the turns with work, and load for several of them before the first value is used"
    )
    effect: ClassVar[str] = "no idle threads, and several times the loads in flight"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Rewrite a grid loop that only gathers sums, each behind a test of the turn."""
        source = kernel.source
        loop = next((item for item in parallel_loops(kernel) if item.form == "grid" and item.top), None)
        if loop is None or loop.type not in _WHOLE:
            return None
        if kernel.written_roots & {root for root, *_ in loop.accesses()} or not effects_known(loop):
            return None
        if "volatile" in text(kernel.node) or any(combines_sum(loop, name) is None for name in loop.carried):
            return None
        fixed = [n for n in loop.body if n.type == "declaration"]
        tests = [n for n in loop.body if n.type != "declaration"]
        if any(not _hoists(kernel, loop, n) for n in fixed):
            return None
        parts = [_part(kernel, loop, n) for n in tests]
        known = [p for p in parts if p is not None]
        if len(known) != len(parts) or all(p.only for p in known):
            return None
        code = [text(n) for n in fixed]
        # What one thread alone loads is under way while all threads loop.
        code += [_alone(loop, p, first=True) for p in known if p.only]
        code += [_stepped(loop, p) for p in known if not p.only]
        code += [_alone(loop, p, first=False) for p in known if p.only]
        whole = fresh(source, "\n".join(code))
        edits = [(loop.node.start_byte, loop.node.end_byte, indented(whole, 4).lstrip())]
        # Half as many threads as before keep more loads in flight now.
        many = r"^(constexpr int blocks_of_processor\d* = )8;  // tune: 8 4 2 1$"
        return re.sub(many, r"\g<1>4;  // tune: 4 2 1 8", edited(source.text, edits), flags=re.M)


def combines_sum(loop: ParallelLoop, name: str) -> str | None:
    """Return `sum` if a variable of the kernel only gathers a sum in the loop."""
    body = loop.node.child_by_field_name("body")
    return "sum" if body is not None and combines(body, name) == "sum" else None


def _hoists(kernel: Kernel, loop: ParallelLoop, node: Node) -> bool:
    """Return whether a declaration may stand in front of the loop: the same in every turn, and sure to be harmless."""
    declarators = node.children_by_field_name("declarator")
    names = {declared_name(c) for c in declarators}
    named = {text(n) for n in walk(node) if n.type == "identifier"}
    pointer = any("*" in text(c).split("=")[0] for c in declarators)
    if loop.variable in named or names & kernel.assigned or "[" in text(node) or pointer:
        return False
    code = code_only(text(kernel.node))
    if any(len(re.findall(rf"[\w>*&]\s+{re.escape(name)}\s*[=;,({{]", code)) != 1 for name in names):
        return False
    if named & loop.assigned or calls(node) - {"float", "int", "min", "max", "fmaxf", "fminf"}:
        return False
    for n in walk(node):
        if n.type == "binary_expression" and text(n.child_by_field_name("operator")) in ("/", "%"):
            right = n.child_by_field_name("right")
            if right is None or not re.match(r"[\d.]+f?$|\((float|double)\)", squeezed(right)):
                return False
    return all(c.child_by_field_name("value") is not None for c in declarators)


def _part(kernel: Kernel, loop: ParallelLoop, node: Node) -> Part | None:
    """Read one `if` without an `else` whose body only loads and adds."""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return None
    tested = node.child_by_field_name("condition")
    joined = comparisons(tested, "&&")
    body = statements(node.child_by_field_name("consequence"))
    if tested is None or joined is None or "[" in text(tested) or calls(tested) or _names(tested) & loop.assigned:
        return None
    inside = [n for s in body for n in walk(s)]
    if any(
        n.type == "conditional_expression" or text(n.child_by_field_name("operator")) in ("&&", "||") for n in inside
    ):
        return None
    if any(s.type not in ("declaration", "expression_statement") for s in body):
        return None
    accesses = [a for s in body for a in kernel.accesses_in(s, loop.variable)]
    traced = {(a.node.start_byte, a.node.end_byte) for a in accesses}
    subscripts = [n for n in inside if n.type == "subscript_expression" or (n.type == "pointer_expression")]
    if any((n.start_byte, n.end_byte) not in traced for n in subscripts):
        return None
    own = {declared_name(c) for s in body if s.type == "declaration" for c in s.children_by_field_name("declarator")}
    loads: dict[str, str] = {}
    for access in accesses:
        parameter = kernel.parameter(access.root)
        used = {text(n) for n in walk(access.node) if n.type == "identifier"}
        if parameter is None or parameter.type not in SIZES or used & (own | loop.carried):
            return None
        loads[text(access.node)] = parameter.type
    if len(set(loads.values())) != 1:
        return None
    every, only, rest = 1, "", []
    for test in joined:
        left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
        sign = text(test.child_by_field_name("operator"))
        step = re.fullmatch(rf"{re.escape(loop.variable)}%(\d+)==0", squeezed(test))
        if step is not None and every == 1 and int(step[1]) > 1:
            every = int(step[1])
        elif sign == "==" and text(left) == loop.variable and _whole(kernel, loop, right) and not only:
            only = text(right)
        else:
            rest.append(text(test))
    if bool(only) == (every > 1):
        return None
    condition = " && ".join([f"{loop.variable} < {text(loop.bound)}", *rest])
    return Part(node, every, only, condition, body, tuple((kind, code) for code, kind in loads.items()))


def _whole(kernel: Kernel, loop: ParallelLoop, node: Node | None) -> bool:
    """Return whether an expression is a whole number that is the same in every turn."""
    kinds = {p.name: p.type for p in kernel.parameters if not p.pointer} | kernel.declared
    known = all(kinds.get(name) in _WHOLE for name in _names(node)) and loop.variable not in _names(node)
    return node is not None and known and re.fullmatch(r"[\w\s()+*-]+", text(node)) is not None


def _names(node: Node | None) -> set[str]:
    return {text(n) for n in walk(node) if n.type == "identifier"} if node is not None else set()


def _replaced(part: Part, arrays: dict[str, str]) -> str:
    """Return a part's body with its loads replaced."""
    lines = []
    for statement in part.body:
        code = [
            (n.start_byte - statement.start_byte, n.end_byte - statement.start_byte, arrays[text(n)])
            for n in walk(statement)
            if n.type in ("subscript_expression", "pointer_expression") and text(n) in arrays
        ]
        lines.append(dedented(edited(text(statement), code)))
    return "\n".join(lines)


def _stepped(loop: ParallelLoop, part: Part) -> str:
    """Write a loop over the turns with work that loads for several of them first."""
    i, bound = loop.variable, text(loop.bound)
    arrays = {code: f"@ahead[@turn][{number}]" for number, (_, code) in enumerate(part.loads)}
    kind = part.loads[0][0]
    step = f"{part.every} * ((long long)gridDim.x * blockDim.x)"
    head = f"""\
const long long {i} = @first + @turn * ({step});
if ({part.condition}) {{"""
    loads = "\n".join(f"{arrays[code]} = {code};" for _, code in part.loads)

    def turns(lines: str) -> str:
        each = f"{head}\n{indented(lines, 4)}\n}}"
        return f"#pragma unroll\nfor (int @turn = 0; @turn < {TURNS}; ++@turn) {{\n{indented(each, 4)}\n}}"

    inside = f"{kind} @ahead[{TURNS}][{len(part.loads)}] = {{}};\n{turns(loads)}\n{turns(_replaced(part, arrays))}"
    start = f"{part.every} * (blockIdx.x * (long long)blockDim.x + threadIdx.x)"
    return f"""\
#pragma unroll 1
for (long long @first = {start}; @first < {bound}; @first += {TURNS} * ({step})) {{
{indented(inside, 4)}
}}"""


def _alone(loop: ParallelLoop, part: Part, first: bool) -> str:
    """Write what the one thread does that has the only turn with work: its loads, or the rest."""
    i = loop.variable
    number = part.node.start_byte
    arrays = {code: f"@alone_{number}[{n}]" for n, (_, code) in enumerate(part.loads)}
    lines = "\n".join(f"{arrays[code]} = {code};" for _, code in part.loads) if first else _replaced(part, arrays)
    declared = f"{part.loads[0][0]} @alone_{number}[{len(part.loads)}] = {{}};\n" if first else ""
    return f"""\
{declared}if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) {{
    const long long {i} = {part.only};
    if ({i} >= 0 && {part.condition}) {{
{indented(lines, 8)}
    }}
}}"""
