"""Kernels whose threads each sum products of one row and one column, and the code that all their tiles share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from .emit import dedented, indented
from .loops import for_parts
from .rule import distinct_arguments
from .space import Axis, Space, before_sum, index_space
from .syntax import Kernel, coefficient, statements, summed_product, text, walk
from .values import declared, depends


@dataclass(frozen=True)
class Product:
    """`total = Σ_k left(row, k)·right(col, k)`, then `after` with the total."""

    space: Space = field(repr=False)
    row: Axis
    col: Axis
    loop: Node = field(repr=False)
    k: str
    k_type: str
    k_end: Node = field(repr=False)
    total: str
    left: Node = field(repr=False)
    right: Node = field(repr=False)
    before: tuple[Node, ...] = field(repr=False)
    after: tuple[Node, ...] = field(repr=False)
    outer: tuple[Node, ...] = field(default=(), repr=False)
    """Loops around the one over k: more common indices."""
    group: str = ""
    """Rows that share one right operand: `right` depends on `row / group` as well. Empty: all rows do."""


def find_product(kernel: Kernel) -> Product | None:
    """Recognise a kernel whose threads each sum products of one row and one column."""
    space = index_space(kernel)
    if space is None or len(space.axes) != 2 or kernel.cooperates or not kernel.launches or kernel.template is not None:
        return None
    if not distinct_arguments(kernel) or "volatile" in text(kernel.body):
        return None
    nest = _nest(kernel, space)
    if nest is None:
        return None
    first, *_ = nest
    *outer, loop = nest
    parts = for_parts(loop)
    assert parts is not None
    inner = statements(loop.child_by_field_name("body"))
    k, k_type, _, _, k_end, _ = parts
    if (summed := summed_product(inner[0])) is None:
        return None
    total, *operands = summed
    before = before_sum(space, first, total)
    if before is None or total in {text(n) for s in before for n in walk(s)}:
        return None
    names = [a.variable for a in space.axes]
    needs = [depends(kernel, n) for n in operands]
    if any(kernel.accesses_in(n) for n in before if declared(n) & set().union(*needs)):
        return None  # a tile's last rows and columns may lie beyond the end
    if any(k not in d for d in needs) or any(not _loads(kernel, n) for n in operands):
        return None
    stored = _stored_fast(kernel, names)
    if stored is None:
        return None
    col = stored
    row = next(n for n in names if n != col)
    across = [col in d for d in needs]
    if across.count(True) != 1 or row not in needs[across.index(False)]:
        return None
    left, right = operands[across.index(False)], operands[across.index(True)]
    group = ""
    if row in needs[across.index(True)]:
        shared = _group(kernel, right, row)
        if shared is None:
            return None
        group = shared
    row_axis, col_axis = space.axis_of(row), space.axis_of(col)
    assert row_axis is not None
    assert col_axis is not None
    assert left is not None
    assert right is not None
    if _free(text(k_end), kernel) or _free(text(row_axis.bound), kernel) or _free(text(col_axis.bound), kernel):
        return None
    after = space.body[space.body.index(first) + 1 :]
    if any(n.type in ("return_statement", "continue_statement", "break_statement") for s in after for n in walk(s)):
        return None
    return Product(
        space, row_axis, col_axis, loop, k, k_type, k_end, total, left, right, tuple(before), tuple(after),
        tuple(outer), group,
    )  # fmt: skip


def _nest(kernel: Kernel, space: Space) -> list[Node] | None:
    """Return the loops around the one sum, outermost first: all from zero, in steps of one, to bounds of the kernel."""
    found: list[Node] = []
    inside = [n for n in space.body if n.type == "for_statement"]
    while len(inside) == 1 and inside[0].type == "for_statement":
        parts = for_parts(inside[0])
        if parts is None or parts[3] != "<" or parts[5] != {(): 1} or kernel.poly(parts[2]) != {}:
            return None
        if _free(text(parts[4]), kernel):
            return None
        found.append(inside[0])
        inside = list(statements(inside[0].child_by_field_name("body")))
    loops = sum(n.type in ("for_statement", "while_statement") for s in space.body for n in walk(s))
    return found if found and len(inside) == 1 and loops == len(found) else None


def _group(kernel: Kernel, operand: Node | None, row: str) -> str | None:
    """Return G if an operand depends on a row through `row / G` alone, G one of the kernel's scalars."""
    found: set[str] = set()
    divided = rf"(?<![\w.]){re.escape(row)}/(\w+)(?!\w)"
    for access in kernel.accesses_in(operand, row) if operand is not None else []:
        for atom in {a for key in access.index for a in key}:
            found |= set(re.findall(divided, atom))
            if re.search(rf"(?<![\w.]){re.escape(row)}(?!\w)", re.sub(divided, "", atom)):
                return None
    name = found.pop() if len(found) == 1 else ""
    parameter = kernel.parameter(name)
    return name if parameter is not None and not parameter.pointer and name not in kernel.assigned else None


def _loads(kernel: Kernel, node: Node | None) -> bool:
    """Return whether an operand is one load of an array that the kernel does not write, perhaps converted."""
    if node is None:
        return False
    accesses = kernel.accesses_in(node)
    called = {text(n.child_by_field_name("function")) for n in walk(node) if n.type == "call_expression"}
    return len(accesses) == 1 and accesses[0].root not in kernel.written_roots and all(map(kernel.source.pure, called))


def _stored_fast(kernel: Kernel, names: list[str]) -> str | None:
    """Return the index variable that runs along the rows of what is stored."""
    for access in kernel.accesses:
        if access.written:
            for name in names:
                value = kernel.locals.get(name)
                terms = kernel.poly(value) if value is not None else {(name,): 1}
                key = next((t for t in terms if len(t) == 1 and "threadIdx" in t[0]), (name,))
                if access.index.get(key) == 1:
                    return name
    return None


def _free(expression: str, kernel: Kernel) -> bool:
    """Return whether an expression names anything but the kernel's scalars."""
    scalars = {p.name for p in kernel.parameters if not p.pointer} | {"long", "int", "unsigned", "size_t"}
    return any(n not in scalars for n in re.findall(r"(?<![\w.])[A-Za-z_]\w*", expression))


def runs_along(kernel: Kernel, p: Product, operand: Node) -> bool:
    """Return whether the common index is an operand's fast axis."""
    access = kernel.accesses_in(operand)[0]
    return coefficient(access.index, p.k) == {(): 1}


def row_tiles(p: Product) -> str:
    """Return the head of the loop over tiles of rows; the rows of a tile belong to one group."""
    rows, group = text(p.row.bound), p.group or text(p.row.bound)
    return f"""\
const long long @first_col = blockIdx.x * (long long)@side;
const long long @group = {group}, @in_group = (@group + @side - 1) / @side, @row_tiles = ({rows}) / @group * @in_group;
for (long long @tile = blockIdx.y; @tile < @row_tiles; @tile += gridDim.y) {{
    const long long @first_row = @tile / @in_group * @group + @tile % @in_group * @side;
    const long long @end_row = (@tile / @in_group + 1) * @group;"""


def turns_of(p: Product) -> tuple[str, str]:
    """Return the code that counts the turns of a tile, one for each piece of k and value of the other common indices.

    First what comes before the turns, then what each turn ends with: the place of the next one.
    """
    end = text(p.k_end)
    start, go_on = "", ""
    turns = f"({end} > 0 ? (({end}) + @depth - 1) / @depth : 1)"
    for node in p.outer:
        parts = for_parts(node)
        assert parts is not None
        name, kind, _, _, bound, _ = parts
        start += f"{kind} {name} = 0;\n"
        turns += f" * (({text(bound)}) > 0 ? {text(bound)} : 0)"
        wrap = f"if ({name} >= {text(bound)}) {{\n    {name} = 0;\n{indented(go_on, 4)}}}\n" if go_on else ""
        go_on = f"++{name};\n{wrap}"
    if go_on:
        go_on = f"if (@next_k >= {end}) {{\n    @next_k = 0;\n{indented(go_on, 4)}}}"
    return f"{start}long long @next_k = 0;\nconst long long @turns = {turns};", f"@next_k += @depth;\n{go_on}".rstrip()


def point_code(kernel: Kernel, product: Product, row: str, col: str, value: str) -> str:
    """Return the code that finishes one result."""
    needed = set().union(*(depends(kernel, n) for n in product.after))
    lines = [
        f"const long long {product.row.variable} = {row};",
        f"const long long {product.col.variable} = {col};",
        *(dedented(text(n)) for n in product.before if needed & declared(n)),
        f"float {product.total} = {value};",
        *(dedented(text(n)) for n in product.after),
    ]
    return "\n".join(lines)


def declarations(p: Product, operand: Node, kernel: Kernel) -> list[str]:
    """Return the declarations before the loop that an operand needs."""
    needed = depends(kernel, operand)
    return [dedented(text(n)) for n in p.before if needed & declared(n)]


def group_row(p: Product, axis: Axis) -> str:
    """Return the declaration of the row that names a tile's group, where the other operand needs it."""
    return f"    const long long {p.row.variable} = @first_row;\n" if p.group and axis is p.col else ""


def operand_lines(kernel: Kernel, p: Product, operand: Node, axis: Axis) -> str:
    """Return the declarations that an operand needs."""
    return group_row(p, axis) + "".join(f"    {d}\n" for d in declarations(p, operand, kernel))
