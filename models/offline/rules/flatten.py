"""A two-dimensional elementwise kernel over whole rows, as one long vector."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import BLOCKS_FOR, configuration_edits, dedented, helper_name, indented, on_host, with_helper
from ..macros import expanded
from ..rule import KernelRule, Setting
from ..space import index_space
from ..syntax import Kernel, edited, subscript_index, text, walk


class Flatten(KernelRule):
    """Every access is `row * width + column` over the whole width: the two indices are one."""

    name: ClassVar[str] = "flatten_block"
    answers: ClassVar[tuple[str, ...]] = (
        "narrow_loads",
        "instruction_bound",
        "redundant_threads",
        "stall_mix",
        "uncoalesced_access",
    )
    worth: ClassVar[float] = 6.5
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "rows lie one behind the other and each element is treated alike: one index over all of them gives full warps "
        "of neighbours whatever the width, and opens the way to wide accesses"
    )
    effect: ClassVar[str] = "no part-filled blocks at the ends of rows, less index arithmetic"

    def spelled(self, code: str) -> str:
        """Write out macros."""
        return expanded(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Go through all elements as one row."""
        source = kernel.source
        space = index_space(kernel)
        if space is None or len(space.axes) != 2 or kernel.cooperates or space.preamble or not kernel.launches:
            return None
        names = {a.variable for a in space.axes}
        nodes = [n for s in space.body for n in walk(s)]
        if any(n.type in ("return_statement", "for_statement", "while_statement", "lambda_expression") for n in nodes):
            return None
        subscripts = [n for n in nodes if n.type == "subscript_expression"]
        shapes = {tuple(sorted(kernel.poly(subscript_index(n), "").items())) for n in subscripts}
        if len(shapes) != 1:
            return None
        index = next(iter(subscripts))
        known = _row_and_column(kernel, space.axes[0].variable, space.axes[1].variable, index)
        if known is None:
            return None
        row, col = (space.axis_of(n) for n in known)
        assert row is not None
        assert col is not None
        width = text(col.bound)
        written = re.sub(r"\s|\(longlong\)|\(size_t\)", "", text(subscript_index(index)))
        local = kernel.locals.get(written)
        written = re.sub(r"\s|\(longlong\)|\(size_t\)", "", text(local)) if local is not None else written
        forms = {f"{row.variable}*{width}+{col.variable}", f"({row.variable})*{width}+({col.variable})"}
        if written not in forms and written.strip("()") not in forms:
            return None
        inside = {n.id for s in subscripts for n in walk(s)}
        declared = [s for s in space.body if local is not None and _declares(s, text(local))]
        inside |= {n.id for s in declared for n in walk(s)}
        if any(n.type == "identifier" and text(n) in names and n.id not in inside for n in nodes):
            return None
        element = source.unique("element")
        edits = []
        for node in subscripts:
            place = subscript_index(node)
            assert place is not None
            edits.append((place.start_byte, place.end_byte, element))
        bodies = []
        for statement in space.body:
            if statement in declared:
                continue
            own = [(a - statement.start_byte, b - statement.start_byte, c) for a, b, c in edits
                   if statement.start_byte <= a and b <= statement.end_byte]  # fmt: skip
            bodies.append(dedented(edited(text(statement), own)))
        count = f"(long long){text(row.bound)} * {width}"
        code = (
            f"const long long {element} = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
            f"if ({element} >= {count}) return;\n" + "\n".join(bodies)
        )
        changes = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        blocks_for = helper_name(source, "blocks_for", BLOCKS_FOR)
        for launch in kernel.launches:
            elements = on_host(kernel, launch, count)
            if elements is None:
                return None
            changes += configuration_edits(launch, grid=f"{blocks_for}({elements}, 256)", block="256")
        return with_helper(edited(source.text, changes), blocks_for, BLOCKS_FOR)


def _declares(statement: Node, value: str) -> bool:
    """Return whether a statement declares a variable of this value."""
    return statement.type == "declaration" and any(
        n.type == "init_declarator" and text(n.child_by_field_name("value")) == value for n in walk(statement)
    )


def _row_and_column(kernel: Kernel, one: str, two: str, subscript: Node) -> tuple[str, str] | None:
    """Return which of two index variables counts rows and which columns of a subscript `row * width + column`."""
    code = re.sub(r"\s", "", text(subscript_index(subscript)))
    local = kernel.locals.get(code)
    code = re.sub(r"\s", "", text(local)) if local is not None else code
    for row, col in ((one, two), (two, one)):
        if re.search(rf"(?<!\w){re.escape(row)}\)?\*", code) and re.search(rf"\+\(?{re.escape(col)}\)?\)?$", code):
            return row, col
    return None
