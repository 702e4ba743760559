"""A kernel for the points inside and one for the border, in one launch over all points."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, helper_name, indented, on_host, polynomial_text, with_helper
from ..limits import OPPOSITE, Limits, at_most, compared, narrow_down
from ..loops import global_index
from ..rule import Rule, Setting, distinct_arguments
from ..space import Axis, Space, index_space
from ..spelling import leaving
from ..syntax import (
    Kernel,
    Launch,
    Poly,
    Source,
    add,
    calls,
    comparisons,
    declared_name,
    edited,
    multiply,
    parsed,
    polynomial,
    real,
    shows,
    squeezed,
    statements,
    substitute,
    text,
    walk,
)
from .fuse_launches import checks_error
from .march_rows import by_speed, points_alone, skips
from .tile_product import TILES


class JoinBorder(Rule):
    """Every point of a grid is written by one of two launches: one launch goes over all points and asks where it is."""

    name: ClassVar[str] = "join_border"
    answers: ClassVar[tuple[str, ...]] = ("fusible_launches", "launch_or_sync_bound", "uncoalesced_access")
    worth: ClassVar[float] = 6.3
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "one kernel does the points inside and another the border, which it reads and writes a column apart: one "
        "launch over all points does each in its place, along the rows"
    )
    effect: ClassVar[str] = "one launch less, and whole rows written at once"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Join the first two launches that qualify."""
        spelled = parsed(leaving(source.text))
        for first, second in itertools.pairwise(spelled.launches):
            inner, outer = spelled.kernel(first.kernel), spelled.kernel(second.kernel)
            if inner is None or outer is None or not _together(inner, first, outer, second):
                continue
            code = _joined(spelled, inner, outer, second)
            if code is not None and (changed := _rewritten(spelled, (inner, outer), (first, second), code)):
                return changed
        return None


@dataclass(frozen=True)
class _Code:
    """The joined kernel: axes from fast to slow with the bounds of the box, and what is done at a point."""

    axes: tuple[Axis, ...]
    bounds: tuple[str, ...]
    body: str


def _together(inner: Kernel, first: Launch, outer: Kernel, second: Launch) -> bool:
    """Return whether two launches follow one another, and neither reads what they write."""
    for kernel in (inner, outer):
        if kernel.template is not None or kernel.cooperates or len(kernel.launches) != 1:
            return False
        if not distinct_arguments(kernel) or "volatile" in text(kernel.node) or "asm" in calls(kernel.body):
            return False
        if any(a.read for a in kernel.accesses if a.root in kernel.written_roots) or kernel.written_roots != {
            a.root for a in kernel.accesses if a.written
        }:
            return False
    one, two = first.statement, second.statement
    block = one.parent
    if block is None or two.parent is None or block.id != two.parent.id or inner.name == outer.name:
        return False
    if {one.type, two.type} != {"expression_statement"}:
        return False
    if [squeezed(n) for n in first.configuration[2:]] != [squeezed(n) for n in second.configuration[2:]]:
        return False
    for node in real(block.named_children):
        between = one.end_byte <= node.start_byte and node.end_byte <= two.start_byte
        idle = node.type == "declaration" and calls(node) <= {"cudaGetLastError", "cudaPeekAtLastError"}
        if between and not checks_error(node) and not idle:
            return False
    # Both name what they are given alike, so that their bodies can stand in one kernel.
    given = {p.name: (squeezed(a), p.type, p.pointer) for p, a in zip(inner.parameters, first.arguments, strict=False)}
    names = {v[0]: k for k, v in given.items()}
    for parameter, argument in zip(outer.parameters, second.arguments, strict=False):
        passed = squeezed(argument)
        if given.get(parameter.name) != (passed, parameter.type, parameter.pointer) or names[passed] != parameter.name:
            return False
    return len(names) == len(given) and inner.written_roots == outer.written_roots


def _joined(source: Source, inner: Kernel, outer: Kernel, launch: Launch) -> _Code | None:
    space = index_space(inner, every=True)
    if space is None or len(space.axes) not in (2, 3):
        return None
    skipped, body = skips(space)
    if not points_alone(inner, space, skipped, body) or any(_loops(n) for n in body):
        return None
    if any("unsigned" in a.type or a.type in ("size_t", "uint32_t", "uint64_t") for a in space.axes):
        return None
    ordered = by_speed(inner, space, body)
    limits = _limits_of(inner, space, skipped)
    if ordered is None or limits is None:
        return None
    place = _place(inner, space, body)
    if place is None:
        return None
    # The steps of the axes: one element, the width of a row, the size of a plane.
    widths: list[Poly] = [{(): 1}]
    for axis in ordered[1:]:
        widths.append({tuple(a for a in k if a != axis.variable): v for k, v in place.items() if axis.variable in k})
    if place != _sum(multiply({(a.variable,): 1}, w) for a, w in zip(ordered, widths, strict=True)):
        return None
    extents = [_quotient(wide, narrow) for narrow, wide in itertools.pairwise(widths)]
    if any(e is None for e in extents):
        return None
    sizes = [e for e in extents if e is not None]
    readers = (_flat_border, _lines, _same_points)
    found = next((f for read in readers if (f := read(outer, ordered, limits, sizes)) is not None), None)
    if found is None:
        return None
    slowest, border = found
    highs = [limits[a.variable].high for a in ordered]
    if any(h is None or not at_most(h, size) for h, size in zip(highs, (*sizes, slowest), strict=True)):
        return None
    inside = [f"{a.variable} < {text(a.bound)}" for a in ordered]
    for node in skipped:
        parts = compared(node, {a.variable for a in ordered})
        assert parts is not None
        inside.append(f"{parts[0]} {OPPOSITE[parts[1]]} {text(parts[2])}")
    preamble = "".join(f"{dedented(text(n))}\n" for n in space.preamble)
    point = "\n".join(dedented(text(n)) for n in body)
    code = f"{preamble}if ({' && '.join(inside)}) {{\n{indented(point, 4)}\n}} else {{\n{indented(border, 4)}\n}}"
    return _Code(tuple(ordered), tuple(_shortest(p) for p in (*sizes, slowest)), code)


def _flat_border(
    outer: Kernel, ordered: list[Axis], limits: dict[str, Limits], sizes: list[Poly]
) -> tuple[Poly, str] | None:
    """Read a kernel over all elements that finds their indices with `/` and `%` and leaves the points inside out."""
    listed = list(outer.statements)
    if len(listed) < 3 or listed[0].type != "declaration" or listed[1].type != "if_statement":
        return None
    element = _declared_alone(outer, listed[0])
    leaving = comparisons(listed[1].child_by_field_name("condition"), "||")
    leaves = [n.type for n in statements(listed[1].child_by_field_name("consequence"))] == ["return_statement"]
    if not element or not leaves or leaving is None or len(leaving) != 1:
        return None
    left, bound = leaving[0].child_by_field_name("left"), leaving[0].child_by_field_name("right")
    if text(left) != element or text(leaving[0].child_by_field_name("operator")) != ">=" or element in outer.assigned:
        return None
    total = outer.poly(bound)
    for size in sizes:
        quotient = _quotient(total, size)
        if quotient is None:
            return None
        total = quotient
    names: dict[str, str] = {}
    kept: list[Node] = []
    for node in listed[2:]:
        if node.type == "return_statement":
            return None
        for child in node.children_by_field_name("declarator") if node.type == "declaration" else ():
            value = child.child_by_field_name("value")
            level = _level(value, element, sizes) if value is not None else None
            if level is None and value is not None and shows(polynomial(value, {}), element):
                return None
            if level is not None and (declared_name(child) in outer.assigned or len(ordered) != len(sizes) + 1):
                return None
            if level is not None:
                names[declared_name(child)] = ordered[level].variable
        if node.type != "declaration" or not any(
            declared_name(c) in names for c in node.children_by_field_name("declarator")
        ):
            kept.append(node)
        elif any(declared_name(c) not in names for c in node.children_by_field_name("declarator")):
            return None
    if len(kept) != 2 or not _left_out(outer, kept, names, limits):
        return None
    at = _sum(multiply({(a.variable,): 1}, _product(sizes[:n])) for n, a in enumerate(ordered))
    values = {**names, element: f"({polynomial_text(at)})"}
    return total, "\n".join(substitute(dedented(text(n)), values) for n in kept)


def _left_out(outer: Kernel, kept: list[Node], names: dict[str, str], limits: dict[str, Limits]) -> bool:
    """Return whether the rest is `const bool inside = …; if (!inside) …;` and the other kernel does nothing outside."""
    declared, test = kept
    declarators = declared.children_by_field_name("declarator")
    if declared.type != "declaration" or len(declarators) != 1 or test.type != "if_statement":
        return False
    name, value = declared_name(declarators[0]), declarators[0].child_by_field_name("value")
    condition = test.child_by_field_name("condition")
    if squeezed(condition) != f"(!{name})" or name in outer.assigned or test.child_by_field_name("alternative"):
        return False
    if any(n.type in ("return_statement", "goto_statement") or _uses_threads(n) for n in walk(test)):
        return False
    tests = comparisons(value, "&&")
    found: dict[str, Limits] = {}
    for part in tests or ():
        if not narrow_down(outer, part, names, found):
            return False
    scalars = {p.name for p in outer.parameters if not p.pointer} - outer.assigned
    for one in found.values():
        if any(not set(k) <= scalars for e in (one.low, one.high) if e is not None for k in e):
            return False
    return bool(tests) and all(v in limits and limits[v].lie_in(e) for v, e in found.items())


def _lines(outer: Kernel, ordered: list[Axis], limits: dict[str, Limits], sizes: list[Poly]) -> tuple[Poly, str] | None:
    """Read a kernel with one index along the border's lines: `if (k < width) { out[k] = …; out[last + k] = …; }`."""
    if len(ordered) != 2 or not outer.statements or outer.statements[0].type != "declaration":
        return None
    k, (col, row), width = _declared_alone(outer, outer.statements[0]), ordered, sizes[0]
    scalars = {p.name for p in outer.parameters if not p.pointer} - outer.assigned
    if not k or k in outer.assigned:
        return None
    tall: Poly | None = None
    ends: list[Poly] = []
    codes: list[str] = []
    for node in outer.statements[1:]:
        if node.type == "declaration":
            continue
        parts = comparisons(node.child_by_field_name("condition"), "&&") if node.type == "if_statement" else None
        if not parts or node.child_by_field_name("alternative") is not None:
            return None
        own: dict[str, Limits] = {}
        if not all(narrow_down(outer, part, {k: k}, own) for part in parts) or set(own) != {k}:
            return None
        for statement in statements(node.child_by_field_name("consequence")):
            stores = [a for a in outer.accesses_in(statement, k) if a.written]
            copy = real(statement.named_children)[0] if statement.type == "expression_statement" else None
            if copy is None or copy.type != "assignment_expression" or len(stores) != 1 or _uses_threads(statement):
                return None
            if text(copy.child_by_field_name("operator")) != "=" or squeezed(copy.child_by_field_name("left")) != (
                squeezed(stores[0].node)
            ):
                return None
            place = _split(stores[0].index, width)
            if place is None or any(not set(key) <= scalars | {k} for part in place for key in part):
                return None
            down, across = place
            high = own[k].high
            if across == {(k,): 1} and not shows(down, k):
                fixed, moving, fits = (row, down), col, high is not None and at_most(high, width)
            elif down == {(k,): 1} and not shows(across, k):
                fixed, moving, fits = (col, across), row, high is not None
            else:
                return None
            if not fits or not limits[fixed[0].variable].apart(Limits(fixed[1], add(fixed[1], {(): 1}))):
                return None
            if fixed[0] is col:
                assert high is not None
                ends.append(high)
            elif fixed[1]:
                # Something lies in this row: it is not before the first, which therefore exists as well.
                tall = add(fixed[1], {(): 1})
                ends.append(tall)
            at = f"{fixed[0].variable} == {_shortest(fixed[1])}"
            told = " && ".join(_written_out(outer, text(p), k) for p in parts)
            # Each point writes in its own place, and reads there what was read at the same place.
            here = [a.node for a in outer.accesses_in(copy, k) if a.index == stores[0].index]
            if any(_root_of(a.node) != a.root for a in outer.accesses_in(copy, k)):
                return None
            own_place = f"[{row.variable} * {_shortest(width)} + {col.variable}]"
            edits = [(n.start_byte - copy.start_byte, n.end_byte - copy.start_byte, _root_of(n) + "@") for n in here]
            done = _written_out(outer, edited(text(copy), edits), k).replace("@", own_place)
            code = f"if ({{at}} && {told}) {done};"
            if set(re.findall(r"[A-Za-z_]\w*", code)) & (set(outer.declared) - {k}):
                return None
            codes.append(substitute(code, {k: moving.variable}).replace("{at}", at))
    if tall is None or not all(at_most(e, tall) for e in ends):
        return None
    return tall, "\n".join(codes)


def _same_points(
    outer: Kernel, ordered: list[Axis], limits: dict[str, Limits], sizes: list[Poly]
) -> tuple[Poly, str] | None:
    """Read a kernel over the same points that does something where `row == 0 || column >= width - 1 || …`."""
    space = index_space(outer, every=True)
    skipped, body = skips(space) if space is not None else ([], ())
    if space is None or skipped or space.preamble or len(space.axes) != len(ordered) or len(body) != 1:
        return None
    own = by_speed(outer, space, body)
    if own is None or not points_alone(outer, space, skipped, body) or any(_loops(n) for n in body):
        return None
    names = {mine.variable: there.variable for mine, there in zip(own, ordered, strict=True)}
    at = _sum(multiply({(a.variable,): 1}, _product(sizes[:n])) for n, a in enumerate(own))
    extents = [outer.poly(a.bound) for a in own]
    if _place(outer, space, body) != at or extents[:-1] != sizes or body[0].type != "if_statement":
        return None
    tests = comparisons(body[0].child_by_field_name("condition"), "||")
    if body[0].child_by_field_name("alternative") is not None or not tests:
        return None
    for test in tests:
        told = _excluded(outer, test, names)
        if told is None or not limits[told[0]].apart(told[1]):
            return None
    return extents[-1], substitute(dedented(text(body[0])), names)


def _excluded(kernel: Kernel, test: Node, names: dict[str, str]) -> tuple[str, Limits] | None:
    """Read `variable == place` or another comparison: the variable, and between what it holds."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    if text(test.child_by_field_name("operator")) == "==" and text(left) in names and right is not None:
        place = kernel.poly(right)
        unknown = any(shows(place, n) for n in (*names, "threadIdx", "blockIdx"))
        return None if unknown else (names[text(left)], Limits(place, add(place, {(): 1})))
    found: dict[str, Limits] = {}
    return next(iter(found.items())) if narrow_down(kernel, test, names, found) else None


def _root_of(node: Node) -> str:
    """Return the array of a subscript as it is written."""
    return text(node.child_by_field_name("argument"))


def _written_out(kernel: Kernel, code: str, kept: str) -> str:
    """Return code with the kernel's constant locals written out."""
    for _ in range(4):
        code = substitute(code, {n: f"({text(v)})" for n, v in kernel.locals.items() if n != kept})
    return code


def _split(index: Poly, width: Poly) -> tuple[Poly, Poly] | None:
    """Return row and column of `row * width + column`; a column before the row's start is one at the end of another."""
    if len(width) != 1 or set(width.values()) != {1}:
        return None
    by = next(iter(width))
    if len(by) != 1:
        return None
    down = {tuple(a for a in k if a != by[0]): v for k, v in index.items() if k.count(by[0]) == 1}
    across = {k: v for k, v in index.items() if by[0] not in k}
    if any(k.count(by[0]) > 1 for k in index):
        return None
    if set(across) == {()} and across[()] < 0:
        down, across = add(down, {(): 1}, -1), add(across, width)
    elif across and not set(across) <= {()} and any(v != 1 or len(k) != 1 for k, v in across.items()):
        return None
    if set(across) == {()} and across[()] > 0:
        return None
    return down, across


def _limits_of(kernel: Kernel, space: Space, skipped: list[Node]) -> dict[str, Limits] | None:
    """Return between what the points of a kernel lie; None if a condition says something else."""
    found: dict[str, Limits] = {}
    for axis in space.axes:
        found[axis.variable] = Limits({}, kernel.poly(axis.bound))
    names = {a.variable: a.variable for a in space.axes}
    return found if all(narrow_down(kernel, node, names, found, left_out=True) for node in skipped) else None


def _level(value: Node, element: str, sizes: list[Poly]) -> int | None:
    """Return which index `e % X`, `e / X % Y` or `e / X / Y` is: 0 along the rows, then across; None if it is none."""
    node, level, last = value, 0, False
    divisors: list[Poly] = []
    if node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "%":
        last = True
        divisor = polynomial(node.child_by_field_name("right"), {})
        inner = node.child_by_field_name("left")
        assert inner is not None
        node = inner
    while node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "/":
        divisors.insert(0, polynomial(node.child_by_field_name("right"), {}))
        inner = node.child_by_field_name("left")
        assert inner is not None
        node = inner
    level = len(divisors)
    if text(node) != element or divisors != sizes[:level]:
        return None
    if last:
        return level if level < len(sizes) and divisor == sizes[level] else None
    return level if level == len(sizes) else None


def _declared_alone(kernel: Kernel, node: Node) -> str:
    """Return the name of a declaration of the thread's global index along x, else an empty string."""
    declarators = node.children_by_field_name("declarator")
    value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
    alone = value is not None and global_index(kernel.poly(value)) is not None
    flat = not any(f"{word}.{a}" in squeezed(kernel.body) for word in ("threadIdx", "blockIdx") for a in "yz")
    return declared_name(declarators[0]) if alone and flat else ""


def _place(kernel: Kernel, space: Space, body: Iterable[Node]) -> Poly | None:
    """Return the one index at which a kernel writes, in its index variables."""
    scope = {n: v for n, v in kernel.locals.items() if n not in {a.variable for a in space.axes}}
    found = []
    for statement in body:
        for access in kernel.accesses_in(statement):
            if access.written and access.node.type == "subscript_expression":
                listed = access.node.child_by_field_name("indices")
                assert listed is not None
                if text(access.node.child_by_field_name("argument")) != access.root:
                    return None
                found.append(polynomial(listed.named_children[0], scope))
    return found[0] if found and all(p == found[0] for p in found) else None


def _loops(node: Node) -> bool:
    return any(n.type in ("for_statement", "while_statement", "do_statement") for n in walk(node))


def _uses_threads(node: Node) -> bool:
    return any(
        n.type == "identifier" and text(n) in ("threadIdx", "blockIdx", "blockDim", "gridDim") for n in walk(node)
    )


def _sum(parts: Iterable[Poly]) -> Poly:
    total: Poly = {}
    for part in parts:
        total = add(total, part)
    return total


def _product(parts: Iterable[Poly]) -> Poly:
    total: Poly = {(): 1}
    for part in parts:
        total = multiply(total, part)
    return total


def _quotient(poly: Poly, by: Poly) -> Poly | None:
    """Return a polynomial divided by one of a single term without a rest."""
    if len(by) != 1 or next(iter(by.values())) != 1 or not poly:
        return None
    found: Poly = {}
    for key, value in poly.items():
        rest = list(key)
        for atom in next(iter(by)):
            if atom not in rest:
                return None
            rest.remove(atom)
        found[tuple(rest)] = value
    return found


def _shortest(poly: Poly) -> str:
    """Write a polynomial in a kernel's scalars, of 64 bits where it has products."""
    code = polynomial_text(poly)
    return code if any(len(key) > 1 for key in poly) else code.replace("(long long)", "")


def _rewritten(
    source: Source, kernels: tuple[Kernel, Kernel], launches: tuple[Launch, Launch], code: _Code
) -> str | None:
    """Put the joined kernel in the place of the first, and take the second away."""
    (inner, outer), (first, second) = kernels, launches
    (col, row, *planes), bounds = code.axes, code.bounds
    body = code.body
    body = (
        f"for (long long {row.variable} = blockIdx.y * blockDim.y + threadIdx.y; {row.variable} < {bounds[1]}; "
        f"{row.variable} += gridDim.y * blockDim.y) {{\n{indented(body, 4)}\n}}"
    )
    for plane, bound in zip(planes, bounds[2:], strict=True):
        body = (
            f"for (long long {plane.variable} = blockIdx.z; {plane.variable} < {bound}; "
            f"{plane.variable} += gridDim.z) {{\n{indented(body, 4)}\n}}"
        )
    body = (
        f"const long long {col.variable} = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
        f"if ({col.variable} >= {bounds[0]}) return;\n{body}"
    )
    told = [on_host(inner, first, b) for b in bounds]
    if None in told:
        return None
    tiles_of = helper_name(source, "tiles_of", TILES)
    sides = [(64, 2147483647), (4, 65535), (1, 65535)]
    tiles = [f"{tiles_of}({b}, {side}, {most})" for b, (side, most) in zip(told, sides, strict=False)]
    edits = [
        (inner.body.start_byte, inner.body.end_byte, "{\n" + indented(body, 4) + "\n}"),
        (outer.outer.start_byte, outer.outer.end_byte, ""),
        (first.configuration[0].start_byte, first.configuration[0].end_byte, f"dim3({', '.join(tiles)})"),
        (first.configuration[1].start_byte, first.configuration[1].end_byte, "dim3(64, 4)"),
        (second.statement.start_byte, second.statement.end_byte, ""),
    ]
    edits += [(n.start_byte, n.end_byte, "") for n in inner.node.children if n.type == "launch_bounds"]
    return with_helper(re.sub(r"\n[ \t]*\n[ \t]*\n+", "\n\n", edited(source.text, edits)), tiles_of, TILES)
