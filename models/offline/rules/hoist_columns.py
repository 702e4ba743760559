"""What depends on the column alone, computed once for several rows."""

from __future__ import annotations

from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, indented, on_host, with_helper
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Space, index_space
from ..spelling import plain
from ..syntax import Kernel, assigned_names, calls, declared_name, edited, substitute, text, walk, within
from ..unflatten import unflattened
from ..values import depends
from .tile_product import TILES

DEAR = {
    "powf", "expf", "exp2f", "logf", "log2f", "sinf", "cosf", "tanf", "tanhf", "erff", "sqrtf", "rsqrtf", "exp10f",
}  # fmt: skip
"""Functions that take many instructions."""

LANES, ROWS = 32, 8
"""Threads of a block along columns and along rows."""

BLOCKS = 7
"""Blocks of a multiprocessor, rounded up: only where these are not enough does a thread have several rows."""


class HoistColumns(KernelRule):
    """Every element computes again what is the same for its whole column: do it once for several rows."""

    name: ClassVar[str] = "hoist_columns"
    answers: ClassVar[tuple[str, ...]] = ("special_function_bound", "stall_mix", "wasteful_algorithm")
    worth: ClassVar[float] = 1.6
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = (
        "a power, root or exponential of the column alone is computed again in every row: let a thread keep its "
        "column and go through several rows, with that value in a register"
    )
    effect: ClassVar[str] = "one evaluation for several elements, and no division for row and column"

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def forms(self, kernel: Kernel) -> tuple[Kernel | None, ...]:
        """Read a kernel over one long index as one over rows and columns."""
        return (unflattened(kernel),)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Walk down the rows in each thread, with what depends on the column alone computed once."""
        source, space = kernel.source, index_space(kernel)
        if space is None or len(space.axes) != 2 or kernel.cooperates or kernel.template is not None:
            return None
        col = next(a for a in space.axes if a.axis == "x")
        row = next(a for a in space.axes if a.axis != "x")
        hoisted = _hoisted(kernel, space, col.variable, row.variable)
        if not hoisted or any(n.type in ("return_statement", "for_statement") for s in space.body for n in walk(s)):
            return None
        names = {node.id: f"@of_column{index or ''}" for index, node in enumerate(hoisted)}
        constants = [f"const float {names[n.id]} = {text(n)};" for n in hoisted]
        loads = _loads(kernel, space, row.variable)
        body = []
        for statement in space.body:
            if any(statement.id == load.id for load in loads):
                continue
            inside = [
                (n.start_byte - statement.start_byte, n.end_byte - statement.start_byte, names[n.id])
                for n in hoisted
                if within(n, statement)
            ]
            inside += [
                (n.start_byte - statement.start_byte, n.end_byte - statement.start_byte, new)
                for n, new in _remainders(statement, row.variable)
            ]
            body.append(dedented(edited(text(statement), inside)))
        preamble = "".join(f"{dedented(text(n))}\n" for n in space.preamble)
        local = "".join(f"{line}\n" for line in constants)
        start, step = f"blockIdx.y * {ROWS}LL + threadIdx.y", f"gridDim.y * {ROWS}LL"
        ahead, taken = "", ""
        for load in loads:
            kind, declarator = text(load.child_by_field_name("type")), load.children_by_field_name("declarator")[0]
            ahead += f"{kind} @next_{declared_name(declarator)} = {{}};\n"
            taken += f"const {kind} {declared_name(declarator)} = @next_{declared_name(declarator)};\n"
        if loads:
            ahead += f"const long long @first_row = {start};\n"
            ahead += _fetch(loads, row.variable, "@first_row", text(row.bound))
            taken += _fetch(loads, row.variable, f"{row.variable} + {step}", text(row.bound))
        inner = indented(taken + "\n".join(body), 4)
        code = (
            f"{preamble}const long long {col.variable} = blockIdx.x * {LANES}LL + threadIdx.x;\n"
            f"if ({col.variable} >= {text(col.bound)}) return;\n"
            f"{'// A row is loaded while the one before is computed.' if loads else ''}\n{ahead}{local}"
            "#pragma unroll 1\n"
            f"for (long long {row.variable} = {start}; {row.variable} < {text(row.bound)}; "
            f"{row.variable} += {step}) {{\n{inner}\n}}"
        )
        tiles_of = helper_name(source, "tiles_of", TILES)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(fresh(source, code), 4) + "\n}")]
        for launch in kernel.launches:
            cols, rows = (on_host(kernel, launch, text(a.bound)) for a in (col, row))
            if cols is None or rows is None:
                return None
            across = f"{tiles_of}({cols}, {LANES}, 2147483647)"
            most = f"{BLOCKS} * {setting.multiprocessors} / {across} + 1"
            grid = f"dim3({across}, {tiles_of}({rows}, {ROWS}, {most}))"
            for node, new in zip(launch.configuration[:2], (grid, f"dim3({LANES}, {ROWS})"), strict=True):
                edits.append((node.start_byte, node.end_byte, new))
        return with_helper(edited(source.text, edits), tiles_of, TILES)


def _remainders(statement: Node, row: str) -> list[tuple[Node, str]]:
    """Return the remainders of the row by a name, and what is as good: all threads of a warp have one row.

    A row below the divisor is its own remainder, and needs no division.
    """
    found = []
    for node in walk(statement):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        remainder = node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "%"
        if remainder and text(left) == row and right is not None and right.type == "identifier":
            by = text(right)
            found.append((node, f"({row} < {by} ? {row} : {row} % {by})"))
    return found


def _loads(kernel: Kernel, space: Space, row: str) -> list[Node]:
    """Return the declarations of a scalar that is loaded, in every turn, from memory that the kernel only reads."""
    leaves = any(n.type in ("continue_statement", "break_statement") for s in space.body for n in walk(s))
    if leaves or not distinct_arguments(kernel) or "volatile" in text(kernel.node):
        return []
    local = {declared_name(n) for s in space.body for n in walk(s) if n.type == "init_declarator"}
    found = []
    for node in space.body:
        declarators = node.children_by_field_name("declarator") if node.type == "declaration" else []
        if len(declarators) != 1 or declarators[0].type != "init_declarator":
            continue
        value, kind = declarators[0].child_by_field_name("value"), text(node.child_by_field_name("type"))
        name = declarators[0].child_by_field_name("declarator")
        if value is None or name is None or name.type != "identifier" or kind == "auto":
            continue
        accesses = kernel.accesses_in(value)
        subscripts = sum(n.type in ("subscript_expression", "pointer_expression") for n in walk(value))
        if not accesses or subscripts != len(accesses) or any(a.root in kernel.written_roots for a in accesses):
            continue
        names, pure = depends(kernel, value), all(map(kernel.source.pure, calls(value)))
        changed = text(name) in set().union(*(assigned_names(s) for s in space.body if s.id != node.id))
        if pure and not changed and row in names and not names & local and "static" not in text(node).split():
            found.append(node)
    return found


def _fetch(loads: list[Node], row: str, place: str, bound: str) -> str:
    """Return the code that loads what belongs to the row at a place, if it exists."""
    lines = ""
    for load in loads:
        declarator = load.children_by_field_name("declarator")[0]
        value = substitute(text(declarator.child_by_field_name("value")), {row: f"({place})"})
        lines += f"    @next_{declared_name(declarator)} = {value};\n"
    return f"if ({place} < {bound}) {{\n{lines}}}\n"


def _hoisted(kernel: Kernel, space: Space, col: str, row: str) -> list[Node]:
    """Return the outermost dear calls that depend on the column, and on nothing else but the kernel's scalars."""
    local = {declared_name(n) for s in space.body for n in walk(s) if n.type == "init_declarator"}
    found: list[Node] = []
    for statement in space.body:
        for node in walk(statement):
            if node.type != "call_expression" or text(node.child_by_field_name("function")) not in DEAR:
                continue
            names = depends(kernel, node.child_by_field_name("arguments"))
            loads = any(n.type == "subscript_expression" for n in walk(node))
            alone = col in names and row not in names and not names & local and not loads
            if alone and not any(within(node, n) for n in found):
                found.append(node)
    return found
