"""Small windows with a test at every cell: one test for the whole window, and the common sizes as constants."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, indented
from ..loops import for_parts
from ..rule import KernelRule, Setting
from ..syntax import (
    Kernel,
    Launch,
    Source,
    coefficient,
    comparisons,
    declared_name,
    edited,
    polynomial,
    real,
    shows,
    statements,
    substitute,
    text,
    walk,
    without,
)

SIZES = (2, 3, 4)
"""Sizes of a window that get code of their own: all loops unrolled."""
DISTANCES = (1, 2)
"""Distances between windows that get code of their own, where a thread has several."""
SIGNED = {"int", "long", "long long", "short", "int32_t", "int64_t", "ptrdiff_t"}
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_FLIPPED = {"<": ">", ">": "<", ">=": "<=", "<=": ">="}


@dataclass
class _Window:
    """Loops one in the other, from 0 to a size that the kernel is given, and the tests that each cell must pass."""

    node: Node
    loops: dict[str, str] = field(default_factory=dict)
    """Variable → size."""
    fors: list[Node] = field(default_factory=list)
    values: dict[str, Node] = field(default_factory=dict)
    """Places that the loops declare."""
    tests: list[tuple[Node, str, Node]] = field(default_factory=list)
    """What holds for a cell that counts: left side, comparison, right side."""
    guards: list[Node] = field(default_factory=list)
    """`if (…) continue;`"""
    wrapped: Node | None = None
    """The `if` around all that is done with a cell."""


class FixedWindow(KernelRule):
    """Every cell of a window is tested against the border: test the window's corners once, and unroll it."""

    name: ClassVar[str] = "fixed_window"
    answers: ClassVar[tuple[str, ...]] = ("instruction_bound", "stall_mix", "divergent_threads")
    worth: ClassVar[float] = 1.25
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = (
        "each cell of a small window costs four comparisons and a loop's overhead, and waits for the one before: "
        "nearly all windows lie inside, which two corners tell; and a size that the compiler knows lets it "
        "load all cells at once"
    )
    effect: ClassVar[str] = "a few instructions for each cell, all loads of a window in flight together"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Give a kernel's window a path without tests, and the kernel a template parameter for the window's size."""
        window = next((w for n in walk(kernel.body) if (w := _window(kernel, n)) is not None), None)
        if window is None or not kernel.launches or "volatile" in text(kernel.body):
            return None
        inside = _inside(kernel, window)
        if inside is None:
            return None
        source, sizes = kernel.source, sorted(set(window.loops.values()))
        size, test = source.unique("window_size"), source.unique("whole_window")
        named = {name: source.unique(f"known_{name}") for name in sizes}
        turns = _turns(window.node)
        # A distance between windows that the compiler knows lets neighbours share what they load.
        apart = [n for n in _distances(kernel, window) if n not in sizes] if turns is not None else []
        step = source.unique("window_step") if len(apart) == 1 else ""
        body = kernel.body
        node = turns or window.node
        if turns is not None:
            code = _all_turns(source, turns, window, inside, test)
        else:
            code = (
                f"const bool {test} = {inside};\nif ({test}) {{\n{indented(_untested(window), 4)}\n}} else "
                f"{{\n{indented(dedented(text(window.node)), 4)}\n}}"
            )
        code = indented(code, node.start_point.column).lstrip()
        rest = edited(text(body), [(node.start_byte - body.start_byte, node.end_byte - body.start_byte, code)])
        known = "".join(f"\n    const int {named[n]} = {size} > 0 ? {size} : {n};" for n in sizes)
        if step:
            named[apart[0]] = source.unique(f"known_{apart[0]}")
            known += f"\n    const int {named[apart[0]]} = {step} > 0 ? {step} : {apart[0]};"
        edits = [(body.start_byte, body.end_byte, "{" + known + substitute(rest, named)[1:])]
        edits.append(_parameter(kernel, f"{size}, int {step}" if step else size))
        for launch in kernel.launches:
            given = [launch.argument(kernel, name) for name in (*sizes, *(apart if step else []))]
            whole = text(launch.statement).rstrip("; ") == text(launch.node)
            if not whole or not all(re.fullmatch(r"\w+", g) for g in given):
                return None
            chain = ""
            for value in SIZES:
                test = " && ".join(f"{g} == {value}" for g in given[: len(sizes)])
                for far in DISTANCES if step else ():
                    call = _call(kernel, launch, f"{value}, {far}")
                    chain += f"if ({test} && {given[-1]} == {far}) {{\n    {call};\n}} else "
                any_distance = _call(kernel, launch, f"{value}, 0" if step else str(value))
                chain += f"if ({test}) {{\n    {any_distance};\n}} else "
            other = _call(kernel, launch, "0, 0" if step else "0")
            chain = indented(f"{chain}{{\n    {other};\n}}", launch.statement.start_point.column)
            edits.append((launch.statement.start_byte, launch.statement.end_byte, chain.lstrip()))
        return edited(source.text, edits)


def _turns(window: Node) -> Node | None:
    """Return the loop of a few turns, known beforehand, of which each has a window; None if there is none.

    Before the window it declares things, and leaves; behind it there is no other loop.
    """
    block = window.parent
    loop = block.parent if block is not None and block.type == "compound_statement" else None
    parts = for_parts(loop) if loop is not None and loop.type == "for_statement" else None
    if block is None or parts is None or parts[3] != "<" or parts[5] != {(): 1} or text(parts[2]) != "0":
        return None
    listed = statements(block)
    before = [n for n in listed if n.end_byte <= window.start_byte]
    after = [n for n in listed if n.start_byte >= window.end_byte]
    if not re.fullmatch("[2-8]", text(parts[4])) or any(_leaving(n) is None for n in before):
        return None
    kinds = {n.type for statement in after for n in walk(statement)}
    return None if {"break_statement", "continue_statement", "for_statement"} & kinds else loop


def _leaving(node: Node) -> str | None:
    """Return the condition of `if (…) break;`, an empty string for a declaration; None for anything else."""
    if node.type == "declaration":
        return ""
    if node.type != "if_statement" or node.child_by_field_name("alternative") is not None:
        return None
    inner = real(statements(node.child_by_field_name("consequence")))
    return text(node.child_by_field_name("condition")) if [n.type for n in inner] == ["break_statement"] else None


def _all_turns(source: Source, loop: Node, window: _Window, inside: str, test: str) -> str:
    """Write turns that are tested together, so that what they load is under way together."""
    block = window.node.parent
    assert block is not None
    head = text(loop)[: block.start_byte - loop.start_byte]
    before = [n for n in statements(block) if n.end_byte <= window.node.start_byte]
    after = [n for n in statements(block) if n.start_byte >= window.node.end_byte]
    declared = [dedented(text(n)) for n in before if n.type == "declaration"]
    asked = "\n".join(
        f"if {condition} {{\n    {test} = false;\n    break;\n}}" if (condition := _leaving(n)) else dedented(text(n))
        for n in before
    )
    asked = indented(f"{asked}\n{test} = {test} && {inside};", 4)
    quick = "\n".join([*declared, _untested(window, source), *(dedented(text(n)) for n in after)])
    return (
        f"bool {test} = true;\n#pragma unroll\n{head}{{\n{asked}\n}}\nif ({test}) {{\n    #pragma unroll\n"
        f"    {head}{{\n{indented(quick, 8)}\n    }}\n}} else {{\n"
        f"{indented(_turns_apart(source, loop, window) or dedented(text(loop)), 4)}\n}}"
    )


def _turns_apart(source: Source, loop: Node, window: _Window) -> str | None:
    """Write turns whose cells are tested one by one, all loads before the first store; None if a turn loads first."""
    block, parts = window.node.parent, for_parts(loop)
    assert block is not None
    assert parts is not None
    before = [n for n in statements(block) if n.end_byte <= window.node.start_byte]
    after = "\n".join(dedented(text(n)) for n in statements(block) if n.start_byte >= window.node.end_byte)
    declared = [n for n in before if n.type == "declaration"]
    if any(
        n.type in ("subscript_expression", "pointer_expression", "call_expression") for d in declared for n in walk(d)
    ):
        return None
    own = [declared_name(c) for n in declared for c in n.children_by_field_name("declarator")]
    start, on = window.node.start_byte, source.unique("counts")
    edits = []
    for inner in window.fors:
        at_loop = inner.start_byte - start
        edits.append((at_loop, at_loop, "#pragma unroll\n" + " " * inner.start_point.column))
    for guard in window.guards:
        at = guard.child_by_field_name("condition")
        assert at is not None
        edits.append((at.start_byte - start, at.end_byte - start, f"(!{on} || {text(at)})"))
    if window.wrapped is not None:
        at = window.wrapped.child_by_field_name("condition")
        assert at is not None
        edits.append((at.start_byte - start, at.end_byte - start, f"({on} && {text(at)})"))
    cells = dedented(edited(text(window.node), edits))
    work, stores, last = [], [], ""
    for turn in range(int(text(parts[4]))):
        names = {name: source.unique(f"{name}_{turn}") for name in (*own, on)} | {parts[0]: str(turn)}
        tests = [last] if last else []
        lines = []
        for node in before:
            condition = _leaving(node)
            tests += [f"!{condition}"] if condition else []
            lines += [] if condition else [dedented(text(node))]
        lines += [f"const bool {on} = {' && '.join(tests) or 'true'};", cells]
        work.append(substitute("\n".join(lines), names))
        stores.append(substitute(f"if ({on}) {{\n{indented(after, 4)}\n}}", names))
        last = names[on]
    return "\n".join([*work, *stores])


def _parameter(kernel: Kernel, size: str) -> tuple[int, int, str]:
    """Return the edit that gives a kernel one more template parameter."""
    if kernel.template is None:
        return kernel.node.start_byte, kernel.node.start_byte, f"template <int {size}>\n"
    listed = kernel.template.child_by_field_name("parameters")
    assert listed is not None
    return listed.end_byte - 1, listed.end_byte - 1, f", int {size}"


def _distances(kernel: Kernel, window: _Window) -> list[str]:
    """Return the kernel's scalars that an index is multiplied by to find a window."""
    found: dict[str, None] = {}
    for left, _, right in window.tests:
        for side in (left, right):
            factors = {atom for key in polynomial(side, window.values) if len(key) == 2 for atom in key}
            whole = {p.name for p in kernel.parameters if p.type == "int" and not p.pointer} - kernel.assigned
            found |= dict.fromkeys(sorted(factors & whole))
    return list(found)


def _call(kernel: Kernel, launch: Launch, size: str) -> str:
    """Return a launch of the form for one size (0: any), and one distance if that is a parameter as well."""
    name, whole = text(launch.function), text(launch.node)
    form = f"{name[:-1]}, {size}>" if name.endswith(">") else f"{name}<{size}>"
    return form + whole[len(name) :]


def _window(kernel: Kernel, node: Node) -> _Window | None:
    """Read loops of at least two levels whose cells are tested; None for anything else."""
    found = _Window(node)
    inner: Node | None = node
    while inner is not None:
        parts = for_parts(inner) if inner.type == "for_statement" else None
        bound = kernel.parameter(text(parts[4])) if parts is not None else None
        if parts is None or bound is None or bound.type != "int" or bound.name in kernel.assigned:
            return None
        if parts[3] != "<" or parts[5] != {(): 1} or text(parts[2]) != "0" or parts[1] not in SIGNED:
            return None
        found.loops[parts[0]] = bound.name
        found.fors.append(inner)
        inner = _level(found, statements(inner.child_by_field_name("body")))
    leaving = [n for n in walk(node) if n.type in ("break_statement", "continue_statement", "return_statement")]
    if len(found.fors) < 2 or not found.tests or len(leaving) != len(found.guards):
        return None
    return found


def _level(found: _Window, listed: tuple[Node, ...]) -> Node | None:
    """Read what one loop does; return the loop inside it."""
    for position, node in enumerate(listed):
        if node.type == "declaration":
            for child in node.children_by_field_name("declarator"):
                if (value := child.child_by_field_name("value")) is not None:
                    found.values[declared_name(child)] = value
            continue
        if node.type == "if_statement" and node.child_by_field_name("alternative") is None:
            inner = real(statements(node.child_by_field_name("consequence")))
            leaves = [n.type for n in inner] == ["continue_statement"]
            tests = _tests(node.child_by_field_name("condition"), leaves)
            if tests is not None and leaves:
                found.tests += tests
                found.guards.append(node)
                continue
            if tests is not None and position == len(listed) - 1:
                found.tests += tests
                found.wrapped = node
            return None
        return node if node.type == "for_statement" and position == len(listed) - 1 else None
    return None


def _tests(condition: Node | None, leaves: bool) -> list[tuple[Node, str, Node]] | None:
    """Read `a < b && …`, or what must not hold: `a >= b || …`."""
    parts = comparisons(condition, "||" if leaves else "&&")
    found = []
    for part in parts or ():
        left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
        sign = text(part.child_by_field_name("operator"))
        if sign not in _OPPOSITE or left is None or right is None:
            return None
        found.append((left, _OPPOSITE[sign] if leaves else sign, right))
    return found or None


def _inside(kernel: Kernel, window: _Window) -> str | None:
    """Return the condition under which all cells pass: each test at the corner where it is hardest."""
    parts = []
    for left, sign, right in window.tests:
        moving, fixed = left, right
        if _moves(window, right):
            moving, fixed, sign = right, left, _FLIPPED[sign]
        value = _written_out(window, text(moving))
        if _moves(window, fixed) or not _signed(kernel, window, fixed) or not _signed(kernel, window, moving):
            return None
        place = polynomial(moving, window.values)
        for name in window.loops:
            if shows(place, name) and (coefficient(place, name) != {(): 1} or shows(without(place, name), name)):
                return None
        lowest = sign in (">", ">=")
        corner = {name: "0" if lowest else f"({size} - 1)" for name, size in window.loops.items()}
        parts.append(f"{substitute(value, corner)} {sign} {text(fixed)}")
    return " && ".join(parts)


def _moves(window: _Window, node: Node) -> bool:
    return any(n.type == "identifier" and text(n) in {*window.loops, *window.values} for n in walk(node))


def _written_out(window: _Window, expression: str) -> str:
    """Replace the places that the loops declare by their values."""
    for name, value in reversed(window.values.items()):
        expression = substitute(expression, {name: f"({text(value)})"})
    return expression


def _signed(kernel: Kernel, window: _Window, node: Node) -> bool:
    """Return whether an expression is sums and products of signed whole numbers: it grows with each of its terms."""
    signed = SIGNED | _index_types(kernel)
    for n in walk(node):
        if n.type in ("cast_expression", "call_expression", "subscript_expression", "field_expression"):
            return False
        if n.type == "binary_expression" and text(n.child_by_field_name("operator")) not in ("+", "-", "*"):
            return False
        if n.type == "number_literal" and not re.fullmatch(r"\d+[lL]*", text(n)):
            return False
        if n.type == "identifier" and text(n) not in window.loops:
            parameter = kernel.parameter(text(n))
            kind = (
                parameter.type if parameter is not None else kernel.declared.get(text(n), _loop_type(kernel, text(n)))
            )
            if kind not in signed or (parameter is not None and parameter.pointer):
                return False
            if text(n) in window.values and not _signed(kernel, window, window.values[text(n)]):
                return False
    return True


def _loop_type(kernel: Kernel, name: str) -> str:
    for node in walk(kernel.body):
        if node.type == "for_statement" and (parts := for_parts(node)) is not None and parts[0] == name:
            return parts[1]
    return ""


def _index_types(kernel: Kernel) -> set[str]:
    """Return the kernel's template types, if every launch puts a signed type in."""
    listed = re.findall(r"typename (\w+)", text(kernel.template)[: text(kernel.template).find("__global__")])
    given = {re.sub(r"^.*<|>$", "", text(launch.function)) for launch in kernel.launches}
    return set(listed) if given <= SIGNED else set()


def _row_by_row(window: _Window, source: Source) -> list[tuple[int, int, str]]:
    """Return the edits that find the extreme of a row first: windows of neighbours share that of a common row.

    The extreme of some floats is the same in whatever order they come, whole numbers or none among them.
    """
    inner = window.fors[-1]
    assign = [n for n in walk(inner) if n.type == "assignment_expression" and n.parent is not None]
    if len(assign) != 1 or assign[0].parent is None or assign[0].parent.type != "expression_statement":
        return []
    left, right = assign[0].child_by_field_name("left"), assign[0].child_by_field_name("right")
    found = re.fullmatch(r"(fmaxf|fminf)\((\w+),(.*)\)", re.sub(r"\s+", " ", text(right)), re.S)
    total = text(left)
    declared = [n for n in walk(window.node) if n.type == "init_declarator" and declared_name(n) == total]
    if found is None or found[2] != total or declared or text(assign[0].child_by_field_name("operator")) != "=":
        return []
    if len(re.findall(rf"\b{re.escape(total)}\b", text(inner))) != 2:
        return []
    part, start = source.unique("row_extreme"), window.node.start_byte
    pad, done = " " * inner.start_point.column, assign[0]
    name, size = list(window.loops.items())[-1]
    value = found[3].strip()
    update = f"{part} = {name} == 0 ? {value} : {found[1]}({part}, {value})"
    joined = f"\n{pad}if ({size} > 0) {total} = {found[1]}({total}, {part});"
    return [
        (inner.start_byte - start, inner.start_byte - start, f"float {part} = 0.0f;\n{pad}"),
        (done.start_byte - start, done.end_byte - start, update),
        (inner.end_byte - start, inner.end_byte - start, joined),
    ]


def _untested(window: _Window, source: Source | None = None) -> str:
    """Return the loops without their tests, to be unrolled; with the source, an extreme is found row by row."""
    start = window.node.start_byte
    edits = [(g.start_byte - start, g.end_byte - start, "") for g in window.guards]
    parts = _row_by_row(window, source) if source is not None else []
    for loop in window.fors:
        at = loop.start_byte - start
        declared = "".join(new for begin, end, new in parts if (begin, end) == (at, at))
        edits.append((at, at, f"{declared}#pragma unroll\n" + " " * loop.start_point.column))
    edits += parts[1:]
    if window.wrapped is not None:
        inner = window.wrapped.child_by_field_name("consequence")
        assert inner is not None
        edits.append((window.wrapped.start_byte - start, inner.start_byte - start, ""))
    code = re.sub(r"\n[ \t]*(?=\n)", "", edited(text(window.node), edits))
    return dedented(" " * window.node.start_point.column + code).lstrip()
