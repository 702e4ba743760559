"""Points that look at their neighbours: a patch of columns and rows for each thread, loaded ahead in wide pieces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, indented, on_host, polynomial_text, with_helper
from ..limits import OPPOSITE, Limits, compared, narrow_down
from ..rule import KernelRule, Setting
from ..space import Axis, Space, points_in_space
from ..spelling import leaving
from ..syntax import (
    SIZES,
    Kernel,
    Poly,
    add,
    calls,
    coefficient,
    comparisons,
    edited,
    multiply,
    polynomial,
    real,
    shows,
    statements,
    subscript_index,
    substitute,
    text,
    walk,
    without,
)
from .march_rows import by_speed, points_alone, skips
from .tile_product import TILES
from .vector_columns import COLUMNS

DEEP = 4
"""Rows (or planes) of a thread's patch: each row that is loaded serves up to three of them."""
FAR = 8
"""How far off a neighbour may be, in columns or rows."""

BLOCK = """\
// A block of 64 to 256 threads, few enough that all multiprocessors get two, with at most 32 of them along the rows.
static dim3 {name}(long long across, long long others, int multiprocessors) {{
    unsigned wide = 1, threads = 256;
    while (wide < 32 && wide < across) wide *= 2;
    while (threads > 64 && across * others < 2LL * multiprocessors * threads) threads /= 2;
    return dim3(wide, threads / wide);
}}
"""


@dataclass
class _Load:
    """A load of a point inside: which element of which rows, seen from the patch's first point."""

    root: str
    node: Node
    base: Poly
    """The place in the array, but for the column and the constant part."""
    right: int
    """The constant part: columns to the right."""
    down: int = 0
    """Rows (or planes) on, from those of the stack's base."""


@dataclass
class _Stack:
    """Rows that one patch needs, each a step further along the axis on which the patch is deep."""

    root: str
    type: str
    base: Poly
    step: Poly
    loads: list[_Load] = field(default_factory=list)
    own: _Load | None = None
    """A load in the own place of a point, if points outside load there as well."""

    @property
    def first(self) -> int:
        """How many rows before the patch's first the first of these is (as a negative number), or after it."""
        return min(load.down for load in self.loads)

    @property
    def rows(self) -> int:
        """How many there are."""
        return DEEP + max(load.down for load in self.loads) - self.first

    @property
    def left(self) -> int:
        """The first column, from the patch's first; words of four bytes start there."""
        first = min(0, *(load.right for load in self.loads))
        return first // 2 * 2 if SIZES[self.type] == 2 else first

    @property
    def right(self) -> int:
        """Columns after the patch's last."""
        return max(0, *(load.right for load in self.loads))

    @property
    def columns(self) -> str:
        """How many columns there are."""
        return "$Width" + (f" + {self.right - self.left}" if self.right > self.left else "")


@dataclass(frozen=True)
class _Points:
    """What is done at a point: axes from fast to slow; inside all `tests`, and something else outside."""

    kernel: Kernel
    axes: tuple[Axis, ...]
    preamble: tuple[Node, ...]
    tests: tuple[tuple[str, str, str], ...]
    """Variable, sign and bound."""
    inside: tuple[Node, ...]
    outside: tuple[Node, ...]

    def poly(self, node: Node) -> Poly:
        """Return an index in the index variables."""
        names = {a.variable for a in self.axes}
        return polynomial(node, {n: v for n, v in self.kernel.locals.items() if n not in names})


@dataclass(frozen=True)
class _Store:
    """A store that every point does in its own place."""

    root: str
    type: str
    index: Poly
    left: str


class PointPatches(KernelRule):
    """Neighbours in registers: a thread loads the rows around its patch, 16 bytes at a time, before it computes."""

    name: ClassVar[str] = "point_patches"
    answers: ClassVar[tuple[str, ...]] = ("uncoalesced_access", "excess_traffic", "stall_mix", "narrow_loads")
    worth: ClassVar[float] = 6.2
    metric: ClassVar[str] = "dram_throughput_pct"
    why: ClassVar[str] = (
        "each point loads its neighbours again, one element per instruction: a thread that takes several columns of "
        "several rows loads each row around them once, 16 bytes at a time, and has all these loads under way together"
    )
    effect: ClassVar[str] = "a fraction of the load instructions, whole sectors, many bytes in flight"
    steps: ClassVar[int] = 2

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return leaving(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Deal patches of points out to threads."""
        if (space := points_in_space(kernel)) is None:
            return None
        points = _points(kernel, space)
        stores = _stores(points) if points is not None else None
        if points is None or stores is None:
            return None
        loads = _loads(points)
        if not _harmless(points, {la.node.id for la in loads}):
            return None
        choices = [(a, _stacks(points, loads, stores, a)) for a in points.axes[1:]]
        # The fewest rows; of the axes that need as many, the slowest, whose rows no other thread of a block loads.
        best = min(
            ((sum(s.rows for s in stacks), -n, axis, stacks) for n, (axis, stacks) in enumerate(choices) if stacks),
            key=lambda item: item[:2],
            default=None,
        )
        if best is None:
            return None
        _, _, along, stacks = best
        if not any(len(s.loads) > 1 for s in stacks):
            return None
        wide = 16 // max(SIZES[kind] for kind in (*(s.type for s in stacks), *(s.type for s in stores)))
        even = not any(s.index.get((), 0) for s in stores)
        length = _row_length(points, [s.base for s in stacks] + [s.index for s in stores]) if even else ""
        return _written(points, along, stacks, stores, wide if length and setting.narrow == 0 else 1, length, setting)


def _points(kernel: Kernel, space: Space) -> _Points | None:
    """Read the two forms: points that are left out, and `if (inside) … else …`."""
    skipped, body = skips(space)
    ordered = by_speed(kernel, space, body)
    if not points_alone(kernel, space, skipped, body) or ordered is None:
        return None
    kinds = {n.type for statement in body for n in walk(statement)}
    # What is less than zero is very large without a sign: only comparisons tell.
    if {"if_statement", "conditional_expression", "for_statement", "while_statement"} & kinds and any(
        "unsigned" in a.type or a.type in ("size_t", "uint32_t", "uint64_t") for a in ordered
    ):
        return None
    names = {a.variable for a in ordered}
    parts = [compared(n, names) for n in skipped]
    found = [(p[0], OPPOSITE[p[1]], _closed(text(p[2]))) for p in parts if p is not None]
    limits: dict[str, Limits] = {}
    own = {n: n for n in names}
    if len(found) != len(skipped) or not all(narrow_down(kernel, n, own, limits, left_out=True) for n in skipped):
        return None
    inside = body
    outside: tuple[Node, ...] = ()
    if len(body) == 1 and body[0].type == "if_statement":
        tests = comparisons(body[0].child_by_field_name("condition"), "&&")
        if tests is None or not all(narrow_down(kernel, n, own, limits) for n in tests):
            return None
        read = [p for n in tests if (p := compared(n, names)) is not None]
        found += [(name, sign, _closed(text(bound))) for name, sign, bound in read]
        other = body[0].child_by_field_name("alternative")
        inside = statements(body[0].child_by_field_name("consequence"))
        outside = statements(real(other.named_children)[0]) if other is not None else ()
    scalars = {p.name for p in kernel.parameters if not p.pointer} | set(kernel.locals)
    if any(set(re.findall(r"[A-Za-z_]\w*", bound)) - scalars - {"long"} for _, _, bound in found):
        return None
    return _Points(kernel, tuple(ordered), space.preamble, tuple(found), inside, outside)


def _stores(points: _Points) -> list[_Store] | None:
    """Return the stores, the same inside and outside; None if something is written in another way."""
    kernel, col = points.kernel, points.axes[0].variable
    found: list[_Store] = []
    for part, listed in ((0, points.inside), (1, points.outside)):
        for statement in listed:
            for access in kernel.accesses_in(statement):
                if access.root not in kernel.written_roots:
                    continue
                index = subscript_index(access.node) if access.node.type == "subscript_expression" else None
                copy = access.node.parent
                if index is None or copy is None or access.read or not access.written:
                    return None
                done = copy.parent
                plain_store = copy.type == "assignment_expression" and text(copy.child_by_field_name("operator")) == "="
                if not plain_store or done is None or done.type != "expression_statement":
                    return None
                if text(access.node.child_by_field_name("argument")) != access.root:
                    return None
                parameter, place = kernel.parameter(access.root), points.poly(index)
                if parameter is None or coefficient(place, col) != {(): 1} or SIZES.get(parameter.type, 8) > 4:
                    return None
                same = next((s for s in found if s.root == access.root and s.index == place), None)
                if part == 0 and (done.id != statement.id or same is not None or not _plain(points, place)):
                    return None
                if part == 1 and same is None:
                    return None
                if same is None:
                    found.append(_Store(access.root, parameter.type, place, text(access.node)))
    roots = [s.root for s in found]
    return found if found and len(set(roots)) == len(roots) and set(roots) == kernel.written_roots else None


def _loads(points: _Points) -> list[_Load]:
    """Return the loads of the points inside that can be done ahead: always done, at a place that is known."""
    kernel, col = points.kernel, points.axes[0].variable
    found = []
    for statement in points.inside:
        for access in kernel.accesses_in(statement):
            index = subscript_index(access.node) if access.node.type == "subscript_expression" else None
            parameter = kernel.parameter(access.root)
            if index is None or parameter is None or access.root in kernel.written_roots or access.written:
                continue
            if text(access.node.child_by_field_name("argument")) != access.root or not _always(access.node, statement):
                continue
            place = points.poly(index)
            size = SIZES.get(parameter.type, 8)
            if size > 4 or coefficient(place, col) != {(): 1} or shows(without(place, col), col):
                continue
            if _plain(points, place):
                base = {k: v for k, v in without(place, col).items() if k}
                found.append(_Load(access.root, access.node, base, place.get((), 0)))
    return found


def _harmless(points: _Points, ahead: set[int]) -> bool:
    """Return whether what is done inside may be done anywhere, its results thrown away: all loads are done ahead."""
    source = points.kernel.source
    for statement in points.inside:
        if statement.type not in ("declaration", "expression_statement"):
            return False
        for access in points.kernel.accesses_in(statement):
            if access.node.id not in ahead and not access.written:
                return False
        for node in walk(statement):
            pointers = {p.name for p in points.kernel.parameters if p.pointer}
            alone = node.type == "identifier" and text(node) in pointers and node.parent is not None
            if alone and node.parent is not None and node.parent.type != "subscript_expression":
                return False
            divides = node.type == "binary_expression" and text(node.child_by_field_name("operator")) in ("/", "%")
            if divides or node.type == "pointer_expression":
                return False
        if not all(source.pure(name) or name in SIZES for name in calls(statement)):
            return False
    return True


def _plain(points: _Points, place: Poly) -> bool:
    """Return whether an index names nothing but the point's indices and the kernel's scalars."""
    kernel = points.kernel
    known = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    known |= {a.variable for a in points.axes}
    return all(atom in known for key in place for atom in key)


def _always(node: Node, statement: Node) -> bool:
    """Return whether an expression of a statement is worked out whatever the data."""
    up: Node | None = node
    while up is not None and up.id != statement.id:
        up = up.parent
        if up is None or up.type in ("conditional_expression", "lambda_expression"):
            return False
        if up.type == "binary_expression" and text(up.child_by_field_name("operator")) in ("&&", "||"):
            return False
        if up.type.endswith("statement") and up.type != "expression_statement":
            return False
    return True


def _stacks(points: _Points, loads: list[_Load], stores: list[_Store], along: Axis) -> list[_Stack]:
    """Put loads that lie whole steps along an axis apart into one stack of rows; none if an index does not fit."""
    found: list[_Stack] = []
    for load in loads:
        step = coefficient(load.base, along.variable)
        if () in step or any(k.count(along.variable) > 1 for k in load.base) or abs(load.right) > FAR:
            return []
        mine = _Load(load.root, load.node, load.base, load.right)
        for stack in found:
            away = [n for n in range(-FAR, FAR + 1) if load.base == add(stack.base, multiply({(): n}, stack.step))]
            if stack.root == load.root and step == stack.step and away:
                mine.down = away[0]
                stack.loads.append(mine)
                break
        else:
            parameter = points.kernel.parameter(load.root)
            assert parameter is not None
            found.append(_Stack(load.root, parameter.type, load.base, step, [mine]))
    for stack in found:
        reads = [
            points.poly(index)
            for n in points.outside
            for access in points.kernel.accesses_in(n)
            if access.root == stack.root and (index := subscript_index(access.node)) is not None
        ]
        own = [s.index for s in stores if s.index in reads]
        stack.own = next((la for la in stack.loads if _index(points, la) in own), None)
    return found


def _index(points: _Points, load: _Load) -> Poly:
    """Return the whole index of a load."""
    return add(add(load.base, {(points.axes[0].variable,): 1}), {(): load.right} if load.right else {})


def _row_length(points: _Points, places: list[Poly]) -> str:
    """Return the scalar that all rows start at multiples of, else an empty string."""
    col = points.axes[0].variable
    for parameter in points.kernel.parameters:
        whole = not parameter.pointer and parameter.name not in points.kernel.assigned
        rests = [key for place in places for key in place if key and col not in key]
        known = whole and parameter.type in ("int", "long long", "unsigned", "size_t")
        if known and rests and all(parameter.name in key for key in rests):
            return parameter.name
    return ""


def _written(
    points: _Points,
    along: Axis,
    stacks: list[_Stack],
    stores: list[_Store],
    wide: int,
    length: str,
    setting: Setting,
) -> str | None:
    """Return the source with the kernel and its launches rewritten."""
    kernel = points.kernel
    source = kernel.source
    width, columns = source.unique("Width"), helper_name(source, "Columns", COLUMNS)
    tiles_of, block_for = helper_name(source, "tiles_of", TILES), helper_name(source, "block_for", BLOCK)
    code = fresh(source, _code(points, along, stacks, stores)).replace("$Width", width).replace("$Columns", columns)
    head = kernel.declarator.child_by_field_name("declarator")
    assert head is not None
    edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
    edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {width}>\n"))
    edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
    # Enough bytes are under way with two or three blocks on a multiprocessor.
    blocks = 3 if sum(stack.rows for stack in stacks) <= 2 * DEEP else 2
    edits.append((head.start_byte, head.start_byte, f"__launch_bounds__(256, {blocks}) "))
    threads = source.unique("threads")
    for launch in kernel.launches:
        bounds = [on_host(kernel, launch, _closed(text(a.bound))) for a in points.axes]
        if None in bounds or text(launch.statement).rstrip("; ") != text(launch.node):
            return None
        rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
        given = ", ".join(text(n) for n in launch.arguments)
        calls = []
        for each in dict.fromkeys((wide, 1)):
            across = f"({bounds[0]} + {each - 1}LL) / {each}" if each > 1 else str(bounds[0])
            others = [
                f"({bound} + {DEEP - 1}LL) / {DEEP}" if axis is along else str(bound)
                for axis, bound in zip(points.axes[1:], bounds[1:], strict=True)
            ]
            tiles = [f"{tiles_of}({across}, {threads}.x, 2147483647)", f"{tiles_of}({others[0]}, {threads}.y, 65535)"]
            tiles += [f"{tiles_of}({other}, 1, 65535)" for other in others[1:]]
            product = " * ".join(f"(long long)({other})" for other in others)
            calls.append(
                f"const dim3 {threads} = {block_for}({across}, {product}, {setting.multiprocessors});\n"
                f"{kernel.name}<{each}><<<dim3({', '.join(tiles)}), {threads}{rest}>>>({given});"
            )
        chain = f"{{\n{indented(calls[-1], 4)}\n}}"
        if len(calls) > 1:
            roots = dict.fromkeys([*(s.root for s in stacks), *(s.root for s in stores)])
            places = " | ".join(f"reinterpret_cast<size_t>({launch.argument(kernel, r)})" for r in roots)
            fits = f"{on_host(kernel, launch, length)} % {wide} == 0 && ({places}) % 16 == 0"
            chain = f"if ({fits}) {{\n{indented(calls[0], 4)}\n}} else {chain}"
        edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chain, 4).lstrip()))
    code = with_helper(edited(source.text, edits), block_for, BLOCK)
    return with_helper(with_helper(code, tiles_of, TILES), columns, COLUMNS)


def _code(points: _Points, along: Axis, stacks: list[_Stack], stores: list[_Store]) -> str:
    """Write a kernel's body: patches that are inside as a whole, and others, element by element."""
    col = points.axes[0].variable
    bounds = {a.variable: _closed(text(a.bound)) for a in points.axes}
    low, high = (
        {along.variable: "@first", col: "@left"},
        {
            along.variable: f"(@first + {DEEP - 1})",
            col: "(@left + $Width - 1)",
        },
    )
    corners = [f"@first + {DEEP} <= {bounds[along.variable]}", f"@left + $Width <= {bounds[col]}"]
    corners += [f"{substitute(n, low if s in ('>', '>=') else high)} {s} {b}" for n, s, b in points.tests]
    here = {along.variable: "(@first + @r)", col: "(@left + @w)"}
    told = [(n, f"{substitute(n, here)} {s} {b}") for n, s, b in points.tests]
    across = [f"@left + @w < {bounds[col]}", *(test for n, test in told if n == col)]
    down = [f"@first + @r < {bounds[along.variable]}", *(test for n, test in told if n != col)]
    near = "".join(
        f"{'alignas(4) ' * (SIZES[s.type] < 4)}{s.type} @near{n}[{s.rows}][{s.columns}];\n"
        for n, s in enumerate(stacks)
    )
    loads = "".join(_ahead(along, n, s, bounds[along.variable]) for n, s in enumerate(stacks))
    patch = f"""\
const bool @whole = {" && ".join(corners)};
unsigned @inside = ~0u;
if (!@whole) {{
    unsigned @across = 0;
    #pragma unroll
    for (int @w = 0; @w < $Width; ++@w) {{
        if ({" && ".join(across)}) @across |= 1u << @w;
    }}
    @inside = 0;
    #pragma unroll
    for (int @r = 0; @r < {DEEP}; ++@r) {{
        if ({" && ".join(down)}) @inside |= @across << (@r * $Width);
    }}
}}
{near}{loads}{_done(points, along, stacks, stores, bounds)}"""
    starts = {"y": "(blockIdx.y * (long long)blockDim.y + threadIdx.y)", "z": "(long long)blockIdx.z"}
    steps = {"y": "gridDim.y * (long long)blockDim.y", "z": "(long long)gridDim.z"}
    loops = [(axis.variable, "y" if axis is points.axes[1] else "z") for axis in points.axes[1:]]
    # The axis on which patches are deep goes inside.
    for name, each in sorted(loops, key=lambda loop: loop[0] != along.variable):
        counted, times = ("@first", f" * {DEEP}") if name == along.variable else (name, "")
        head = f"for (long long {counted} = {starts[each]}{times}; {counted} < {bounds[name]};"
        patch = f"{head}\n     {counted} += {steps[each]}{times}) {{\n{indented(patch, 4)}\n}}"
    preamble = "".join(f"{dedented(text(n))}\n" for n in points.preamble)
    return (
        f"{preamble}const long long @left = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * $Width;\n"
        f"if (@left >= {bounds[col]}) return;\n{patch}"
    )


def _closed(code: str) -> str:
    """Put what is more than a sum or a product into parentheses."""
    return code if re.fullmatch(r"[\w\s+*().-]+", code) else f"({code})"


def _place(along: Axis, stack: _Stack) -> tuple[str, str]:
    """Return the declaration of a stack's row, and where its patch starts."""
    row = f"const long long {along.variable} = @first + @q + {stack.first};".replace("+ -", "- ")
    return row.replace(" + 0;", ";"), f"{polynomial_text(stack.base)} + @left" if stack.base else "@left"


def _ahead(along: Axis, number: int, stack: _Stack, bound: str) -> str:
    """Write the loads of rows in whole pieces, and of single elements beside them, where a point needs any of them."""
    row, place = _place(along, stack)
    near = f"@near{number}[@q]"
    needs = []
    for down, right in dict.fromkeys((load.down - stack.first, load.right) for load in stack.loads):
        mask = "((1u << $Width) - 1)"
        mask = f"({mask} >> {right})" if right > 0 else f"({mask} >> {-right} << {-right})" if right < 0 else mask
        needs.append((down, f"(@inside >> ({_less(down)}) * $Width & {mask}) != 0"))
    if stack.own is not None:
        down = stack.own.down - stack.first
        needs.append((down, f"@first + {_less(down)} < {bound}"))
    code = f"""\
#pragma unroll
for (int @q = 0; @q < {stack.rows}; ++@q) {{
    {row}
    const {stack.type}* @row = {stack.root} + ({place});
    bool @needed = false;
"""
    for down, need in dict.fromkeys(needs):
        code += f"    if ({_in_patch(down)}) @needed = @needed || {need};\n"
    code += f"    if (@needed) {{\n{indented(_copied(near, stack), 8)}\n    }}\n"
    for right in (*range(-FAR, 0), *range(1, stack.right + 1)):
        at = str(right) if right < 0 else f"$Width + {right - 1}".replace(" + 0", "")
        uses = []
        for load in stack.loads:
            down, point = load.down - stack.first, f"{at} - {load.right}".replace("- -", "+ ")
            if load.right <= right < 0 or 0 < right <= load.right:
                there = f"{_in_patch(down)} && {point} >= 0 && {point} < $Width"
                uses.append(f"({there} && (@inside >> (({_less(down)}) * $Width + {point}) & 1u))")
        if uses:
            needed = " ||\n        ".join(dict.fromkeys(uses))
            code += f"    if ({needed})\n        {near}[{at} + {-stack.left}] = @row[{at}];\n"
    return code + "}\n"


def _copied(near: str, stack: _Stack) -> str:
    """Write the copy of a piece into registers: two short elements to a word, or each would take a register."""
    shift = f" + {-stack.left}" if stack.left else ""
    code = f"""\
const auto @piece = *reinterpret_cast<const $Columns<{stack.type}, $Width>*>(@row);
#pragma unroll
for (int @w = 0; @w < $Width; ++@w) {near}[@w{shift}] = @piece.at[@w];"""
    if SIZES[stack.type] == 4:
        return code
    return f"""\
if constexpr ($Width % 2 == 0) {{
    const auto @piece = *reinterpret_cast<const $Columns<unsigned, $Width / 2>*>(@row);
    #pragma unroll
    for (int @w = 0; @w < $Width / 2; ++@w) memcpy(&{near}[2 * @w{shift}], &@piece.at[@w], 4);
}} else {{
{indented(code, 4)}
}}"""


def _less(down: int) -> str:
    """Return which of the patch's rows uses a loaded row so far on."""
    return f"@q - {down}" if down else "@q"


def _in_patch(down: int) -> str:
    return f"@q >= {down} && @q < {down + DEEP}" if down else f"@q < {DEEP}"


def _done(points: _Points, along: Axis, stacks: list[_Stack], stores: list[_Store], bounds: dict[str, str]) -> str:
    """Write what is done at the points of a patch: all as if they were inside, then anew what is outside."""
    col = points.axes[0].variable
    column = f"const long long {col} = @left + @w;"
    inside = _point(points, points.inside, stacks, stores, made=False)
    results = "".join(f"    $Columns<{s.type}, $Width> @result{n};\n" for n, s in enumerate(stores))
    flags = "".join(
        f"    unsigned @made{n} = @inside >> (@r * $Width) & ((1u << $Width) - 1);\n" for n in range(len(stores))
    )
    other = ""
    if points.outside:
        outside = _point(points, points.outside, stacks, stores, made=True)
        within = f"{along.variable} < {bounds[along.variable]} && {col} < {bounds[col]}"
        other = f"""\
    if (@made0 != (1u << $Width) - 1) {{
        #pragma unroll
        for (int @w = 0; @w < $Width; ++@w) {{
            {column}
            if (!(@inside >> (@r * $Width + @w) & 1u) && {within}) {{
{indented(outside, 16)}
            }}
        }}
    }}
"""
    finish = ""
    for n, s in enumerate(stores):
        finish += f"""\
    if (@made{n} == (1u << $Width) - 1) {{
{indented(_whole_store(points, n, s), 8)}\
    }} else {{
        #pragma unroll
        for (int @w = 0; @w < $Width; ++@w) {{
            if (@made{n} >> @w & 1u) {_first(points, s, "@left + @w")} = @result{n}.at[@w];
        }}
    }}
"""
    return f"""\
#pragma unroll
for (int @r = 0; @r < {DEEP}; ++@r) {{
    const long long {along.variable} = @first + @r;
{results}    #pragma unroll
    for (int @w = 0; @w < $Width; ++@w) {{
        {column}
{indented(inside, 8)}
    }}
{flags}{other}{finish}}}"""


def _whole_store(points: _Points, number: int, store: _Store) -> str:
    """Write the store of a row of a patch: as one access, where the compiler might take an assignment apart."""
    place, result = f"&{_first(points, store)}", f"@result{number}"
    return f"""\
if constexpr (sizeof({result}) == 16) {{
    __stwb(reinterpret_cast<uint4*>({place}), *reinterpret_cast<const uint4*>(&{result}));
}} else {{
    *reinterpret_cast<$Columns<{store.type}, $Width>*>({place}) = {result};
}}
"""


def _first(points: _Points, store: _Store, column: str = "@left") -> str:
    """Return a store's place in the first column of a patch, or in another one."""
    col = points.axes[0].variable
    rest = without(store.index, col)
    return f"{store.root}[{polynomial_text(rest)} + {column}]" if rest else f"{store.root}[{column}]"


def _point(points: _Points, listed: tuple[Node, ...], stacks: list[_Stack], stores: list[_Store], *, made: bool) -> str:
    """Write what is done at a point: loads out of the patch, stores into the results."""
    kernel = points.kernel
    lines = []
    for statement in listed:
        edits = []
        for access in kernel.accesses_in(statement):
            index = subscript_index(access.node)
            place = points.poly(index) if index is not None else {}
            start, end = access.node.start_byte - statement.start_byte, access.node.end_byte - statement.start_byte
            if access.root in kernel.written_roots:
                number = next(n for n, s in enumerate(stores) if s.root == access.root)
                edits.append((start, end, f"@result{number}.at[@w]"))
                if made:
                    done = access.node.parent.parent if access.node.parent is not None else None
                    assert done is not None
                    edits.append((done.start_byte - statement.start_byte,) * 2 + (f"{{ @made{number} |= 1u << @w; ",))
                    edits.append((done.end_byte - statement.start_byte,) * 2 + (" }",))
                continue
            for number, stack in enumerate(stacks):
                load = next((la for la in stack.loads if la.node.id == access.node.id), None)
                if load is None and listed is points.outside and stack.own is not None:
                    load = stack.own if access.root == stack.root and place == _index(points, stack.own) else None
                if load is not None and text(access.node.child_by_field_name("argument")) == stack.root:
                    down, right = load.down - stack.first, load.right - stack.left
                    row = f"@r + {down}" if down else "@r"
                    edits.append(
                        (start, end, f"@near{number}[{row}][@w + {right}]" if right else f"@near{number}[{row}][@w]")
                    )
                    break
        lines.append(dedented(edited(text(statement), edits)))
    return "\n".join(lines)
