"""A copy that turns its axes round, through a padded tile in shared memory."""

from __future__ import annotations

import re
from typing import ClassVar

from ..emit import configuration_edits, fresh, helper_name, indented, on_host, with_helper
from ..macros import expanded
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Space, index_space
from ..syntax import SIZES, Kernel, Poly, coefficient, edited, text
from .tile_product import TILES


class TileTranspose(KernelRule):
    """Reads run along one axis, writes along the other: turn the tile in shared memory, both coalesced."""

    name: ClassVar[str] = "transpose_tile"
    answers: ClassVar[tuple[str, ...]] = ("uncoalesced_access", "excess_traffic", "stall_mix")
    worth: ClassVar[float] = 4.0
    metric: ClassVar[str] = "global_store_sectors"
    why: ClassVar[str] = (
        "either the loads or the stores of a warp lie a row apart: read a tile along the rows of the input, turn it in "
        "shared memory (one column of padding keeps the banks apart), and write it along the rows of the output"
    )
    effect: ClassVar[str] = "whole sectors in both directions"

    def spelled(self, code: str) -> str:
        """Write out macros."""
        return expanded(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Copy tiles by way of shared memory."""
        source = kernel.source
        space = index_space(kernel)
        if space is None or len(space.axes) != 2 or kernel.cooperates or not kernel.launches:
            return None
        if not distinct_arguments(kernel) or "volatile" in text(kernel.node) or kernel.template is not None:
            return None
        if len(space.body) != 1 or space.body[0].type != "expression_statement" or space.preamble:
            return None
        copy = space.body[0].named_children[0]
        if copy.type != "assignment_expression" or text(copy.child_by_field_name("operator")) != "=":
            return None
        left, right = copy.child_by_field_name("left"), copy.child_by_field_name("right")
        if left is None or right is None:
            return None
        stores, loads = kernel.accesses_in(left), kernel.accesses_in(right)
        if len(stores) != 1 or len(loads) != 1 or loads[0].root in kernel.written_roots:
            return None
        reads, writes = _along(space, kernel, loads[0].index), _along(space, kernel, stores[0].index)
        parameter = kernel.parameter(stores[0].root)
        if reads is None or writes is None or reads == writes or parameter is None or parameter.type not in SIZES:
            return None
        u, v = space.axis_of(reads), space.axis_of(writes)
        assert u is not None
        assert v is not None
        names = {p.name for p in kernel.parameters if not p.pointer}
        if any(set(re.findall(r"[A-Za-z_]\w*", text(a.bound).split(".")[0])) - names for a in (u, v)):
            return None
        code = f"""\
__shared__ {parameter.type} @tile[32][33];
const long long @first_column = blockIdx.x * 32LL;
for (long long @first_row = blockIdx.y * 32LL; @first_row < {text(v.bound)}; @first_row += gridDim.y * 32LL) {{
    for (int @line = threadIdx.y; @line < 32; @line += blockDim.y) {{
        const long long {v.variable} = @first_row + @line, {u.variable} = @first_column + threadIdx.x;
        if ({v.variable} < {text(v.bound)} && {u.variable} < {text(u.bound)}) @tile[@line][threadIdx.x] = {text(right)};
    }}
    __syncthreads();
    for (int @line = threadIdx.y; @line < 32; @line += blockDim.y) {{
        const long long {v.variable} = @first_row + threadIdx.x, {u.variable} = @first_column + @line;
        if ({v.variable} < {text(v.bound)} && {u.variable} < {text(u.bound)}) {text(left)} = @tile[threadIdx.x][@line];
    }}
    __syncthreads();
}}"""
        code = "{\n" + indented(fresh(source, code), 4) + "\n}"
        edits = [(kernel.body.start_byte, kernel.body.end_byte, code)]
        tiles_of = helper_name(source, "tiles_of", TILES)
        for launch in kernel.launches:
            across, down = on_host(kernel, launch, text(u.bound)), on_host(kernel, launch, text(v.bound))
            if across is None or down is None:
                return None
            grid = f"dim3({tiles_of}({across}, 32, 2147483647), {tiles_of}({down}, 32, 65535))"
            edits += configuration_edits(launch, grid=grid, block="dim3(32, 8)")
        return with_helper(edited(source.text, edits), tiles_of, TILES)


def _along(space: Space, kernel: Kernel, index: Poly) -> str | None:
    """Return the index variable that an access moves along by one element, if there is just one."""
    found = []
    for axis in space.axes:
        value = kernel.locals.get(axis.variable)
        start = kernel.poly(value) if value is not None else {(axis.variable,): 1}
        atom = f"threadIdx.{axis.axis}" if value is not None else axis.variable
        if start and coefficient(index, atom) == {(): 1}:
            found.append(axis.variable)
    return found[0] if len(found) == 1 else None
