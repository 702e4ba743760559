"""Points that look at their neighbours: blocks along the fast axis, and several rows in one thread."""

from __future__ import annotations

from typing import ClassVar

from tree_sitter import Node

from ..emit import configuration_edits, dedented, fresh, helper_name, indented, on_host, with_helper
from ..rule import KernelRule, Setting
from ..space import Axis, Space, points_in_space
from ..spelling import plain
from ..syntax import (
    Kernel,
    coefficient,
    declared_name,
    edited,
    statements,
    substitute,
    text,
    walk,
)
from .tile_product import TILES

WIDE, HIGH = 64, 4
"""Threads of a block along the fast axis, and across it."""
ROWS = 4
"""Rows of a thread: enough loads in flight, and each row of neighbours is loaded once for three."""


class MarchRows(KernelRule):
    """A point's neighbours are read again by theirs: let a thread take several rows, and a block a wide piece."""

    name: ClassVar[str] = "march_rows"
    answers: ClassVar[tuple[str, ...]] = ("uncoalesced_access", "excess_traffic", "stall_mix", "narrow_loads")
    worth: ClassVar[float] = 6.1
    metric: ClassVar[str] = "dram_throughput_pct"
    why: ClassVar[str] = (
        "neighbouring blocks lie along the slow axis or are narrow, so that memory is read in short pieces, and a "
        "thread has few loads under way: run blocks along the rows, and take several rows in a thread, whose loads "
        "go out together and serve two or three points each"
    )
    effect: ClassVar[str] = "long pieces of rows, several times the loads in flight, a part of the index arithmetic"

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Deal the points of a kernel out anew."""
        if (space := points_in_space(kernel)) is None:
            return None
        skipped, body = skips(space)
        if not points_alone(kernel, space, skipped, body) or not _neighbours(kernel, body):
            return None
        ordered = by_speed(kernel, space, body)
        if ordered is None:
            return None
        source, (col, row, *planes) = kernel.source, ordered
        looping = any(n.type in ("for_statement", "while_statement") for s in body for n in walk(s))
        if looping and col.axis == "x" and len(space.axes) == 2:
            return None
        code = fresh(source, _code(space, col, row, planes, skipped, body, looping=looping))
        tiles_of = helper_name(source, "tiles_of", TILES)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        for launch in kernel.launches:
            bounds = [on_host(kernel, launch, text(a.bound)) for a in ordered]
            if None in bounds:
                return None
            sides = [(WIDE, 2147483647), (HIGH * ROWS, 65535), (1, 65535)]
            tiles = [f"{tiles_of}({b}, {side}, {most})" for b, (side, most) in zip(bounds, sides, strict=False)]
            edits += configuration_edits(launch, grid=f"dim3({', '.join(tiles)})", block=f"dim3({WIDE}, {HIGH})")
        edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
        return with_helper(edited(source.text, edits), tiles_of, TILES)


def _code(
    space: Space,
    col: Axis,
    row: Axis,
    planes: list[Axis],
    skipped: list[Node],
    body: tuple[Node, ...],
    *,
    looping: bool,
) -> str:
    """Write a kernel's body for rows of columns, in planes if there are three axes."""
    preamble = "".join(f"{dedented(text(n))}\n" for n in space.preamble)
    point = "\n".join(dedented(text(n)) for n in body)
    by_row = [n for n in skipped if row.variable in _names(n)]
    by_others = [n for n in skipped if n not in by_row]
    others_out, leave = (f"if ({_any(some)}) continue;\n" if some else "" for some in (by_others, by_row))
    step, bound = f"gridDim.y * {HIGH * ROWS}LL", text(row.bound)
    if looping:
        # One copy of the loops: what makes them quick may take the rows together.
        rows = (
            f"for (long long @first = (blockIdx.y * {HIGH}LL + threadIdx.y) * {ROWS}; @first < {bound}; "
            f"@first += {step}) {{\n{indented(others_out, 4)}    for (int @r = 0; @r < {ROWS}; ++@r) {{\n"
            f"        const long long {row.variable} = @first + @r;\n        if ({row.variable} >= {bound}) break;\n"
            f"{indented(leave + point, 8)}\n    }}\n}}"
        )
    else:
        # Names of their own: a name that is declared twice has no one value.
        apart = f"@{row.variable}_apart"
        others = {name: f"@{name}_apart" for n in body for name in _declared_in(n)} | {row.variable: apart}
        there = substitute(_any(by_row), {row.variable: "(@first + @r)"})
        all_in = f"    for (int @r = 0; @r < {ROWS}; ++@r) @whole = @whole && !({there});\n" if by_row else ""
        rows = f"""\
for (long long @first = (blockIdx.y * {HIGH}LL + threadIdx.y) * {ROWS}; @first < {bound}; @first += {step}) {{
{indented(others_out, 4)}    bool @whole = @first + {ROWS} <= {bound};
{all_in}    if (@whole) {{
        #pragma unroll
        for (int @r = 0; @r < {ROWS}; ++@r) {{
            const long long {row.variable} = @first + @r;
{indented(point, 12)}
        }}
    }} else {{
        for (int @s = 0; @s < {ROWS}; ++@s) {{
            const long long {apart} = @first + @s;
            if ({apart} >= {bound}) break;
{indented(substitute(leave + point, others), 12)}
        }}
    }}
}}"""
    for plane in planes:
        rows = (
            f"for (long long {plane.variable} = blockIdx.z; {plane.variable} < {text(plane.bound)}; "
            f"{plane.variable} += gridDim.z) {{\n{indented(rows, 4)}\n}}"
        )
    return (
        f"{preamble}const long long {col.variable} = blockIdx.x * {WIDE}LL + threadIdx.x;\n"
        f"if ({col.variable} >= {text(col.bound)}) return;\n{rows}"
    )


def _declared_in(statement: Node) -> set[str]:
    """Return the names that a statement declares, at any depth."""
    found = [n for n in walk(statement) if n.type == "declaration"]
    return {declared_name(c) for n in found for c in n.children_by_field_name("declarator")}


def _any(conditions: list[Node]) -> str:
    return " || ".join(text(n) for n in conditions)


def skips(space: Space) -> tuple[list[Node], tuple[Node, ...]]:
    """Return the conditions under which a point is left out, and the body without them."""
    skipped = list(space.skipped)
    body: list[Node] = []
    names = {a.variable for a in space.axes} | {p.name for p in space.kernel.parameters if not p.pointer}
    for node in space.body:
        condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
        inner = statements(node.child_by_field_name("consequence")) if condition is not None else ()
        leaves = [n.type for n in inner] == ["continue_statement"] and node.child_by_field_name("alternative") is None
        test = condition.child_by_field_name("value") if condition is not None and leaves else None
        told = test is not None and {text(n) for n in walk(test) if n.type == "identifier"} <= names
        if told and test is not None and all(n.type == "declaration" for n in body):
            skipped += _alternatives(test)
        else:
            body.append(node)
    return skipped, tuple(body)


def _alternatives(condition: Node) -> list[Node]:
    """Return the parts of `a || b || …`."""
    while condition.type == "parenthesized_expression":
        condition = condition.named_children[0]
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if left is None or right is None or text(condition.child_by_field_name("operator")) != "||":
        return [condition]
    return [*_alternatives(left), *_alternatives(right)]


def points_alone(kernel: Kernel, space: Space, skipped: list[Node], body: tuple[Node, ...]) -> bool:
    """Return whether a point's work says nothing about threads, and leaves nothing but its own loops."""
    scalars = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    known = scalars | {declared_name(c) for n in space.preamble for c in n.children_by_field_name("declarator")}
    own = known | {a.variable for a in space.axes}
    if any(not _names(a.bound) <= known for a in space.axes) or any(not _names(n) <= own for n in skipped):
        return False
    if {a.variable for a in space.axes} & kernel.assigned - {a.variable for a in space.axes if _counted(space, a)}:
        return False
    for statement in (*space.preamble, *body):
        for node in walk(statement):
            if node.type in ("return_statement", "goto_statement", "asm_statement"):
                return False
            if node.type in ("break_statement", "continue_statement") and not _in_loop(node, statement):
                return False
            if node.type == "identifier" and text(node) in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
                return False
    return True


def _counted(space: Space, axis: Axis) -> bool:
    """Return whether an axis is a loop of the kernel, which counts it."""
    return axis.variable not in space.kernel.locals


def _names(node: Node) -> set[str]:
    return {text(n) for n in walk(node) if n.type == "identifier"}


def _in_loop(node: Node, statement: Node) -> bool:
    up = node.parent
    while up is not None and up.start_byte >= statement.start_byte and up.end_byte <= statement.end_byte:
        if up.type in ("for_statement", "while_statement", "do_statement"):
            return True
        up = up.parent
    return False


def _neighbours(kernel: Kernel, body: tuple[Node, ...]) -> bool:
    """Return whether some array is read at several places for one point, and none that is written."""
    places: dict[str, int] = {}
    for statement in body:
        for access in kernel.accesses_in(statement):
            if access.root in kernel.written_roots and access.read:
                return False
            looped = _in_loop(access.node, statement)
            places[access.root] = places.get(access.root, 0) + (2 if looped else 1)
    return any(count > 1 for root, count in places.items() if root not in kernel.written_roots)


def by_speed(kernel: Kernel, space: Space, body: tuple[Node, ...]) -> list[Axis] | None:
    """Return the axes by how far a step goes in what is written: by one element first, then by rows, by planes."""
    found: dict[str, int] = {}
    for axis in space.axes:
        steps = [
            coefficient(access.index, axis.variable)
            for statement in body
            for access in kernel.accesses_in(statement, axis.variable)
            if access.written
        ]
        if not steps or any(not s or len(s) != 1 or s != steps[0] for s in steps):
            return None
        found[axis.variable] = len(next(iter(steps[0])))
    ordered = sorted(space.axes, key=lambda a: found[a.variable])
    factors = [found[a.variable] for a in ordered]
    return ordered if factors == list(range(len(ordered))) else None
