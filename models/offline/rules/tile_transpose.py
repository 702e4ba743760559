"""A copy that turns its axes round, through a padded tile in shared memory."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import fresh, helper_name, indented, on_host, with_helper
from ..macros import expanded
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Axis, Space, index_space
from ..syntax import SIZES, Kernel, Poly, coefficient, edited, shows, substitute, text, without
from .tile_product import TILES
from .vector_columns import COLUMNS

THREADS = 256
SIDE = 32
"""Rows and columns of a tile whose elements go one by one."""
HIGH = 64
"""Rows of a tile that moves in pieces of 16 bytes, 8 to a row: two loads a thread are under way."""


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
    effect: ClassVar[str] = "whole sectors in both directions, 16 bytes at a time where they are aligned"
    steps: ClassVar[int] = 2

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
        types = [p.type for a in (loads[0], stores[0]) if (p := kernel.parameter(a.root)) is not None]
        if reads is None or writes is None or reads == writes or not set(types) <= set(SIZES):
            return None
        u, v = space.axis_of(reads), space.axis_of(writes)
        assert u is not None
        assert v is not None
        names = {p.name for p in kernel.parameters if not p.pointer}
        if any(set(re.findall(r"[A-Za-z_]\w*", text(a.bound).split(".")[0])) - names for a in (u, v)):
            return None
        wide = 16 // SIZES[types[0]]
        aligned = all(_whole_rows(kernel, n, a) for n, a in ((right, u), (left, v)))
        even = SIZES[types[0]] == SIZES[types[1]] <= 4
        widths = (wide, 1) if aligned and even and setting.narrow == 0 else (1,)
        at = loads[0].node.start_byte - right.start_byte, loads[0].node.end_byte - right.start_byte
        value = edited(text(right), [(*at, "@next[@n].at[@w]")])
        width, columns = source.unique("Width"), helper_name(source, "Columns", COLUMNS)
        code = fresh(source, _code(u, v, (text(loads[0].node), text(left)), value, types, len(widths) > 1))
        code = code.replace("$Width", width).replace("$Columns", columns)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {width}>\n"))
        edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
        head = kernel.declarator.child_by_field_name("declarator")
        assert head is not None
        # All threads that a multiprocessor holds: one block loads while another stores.
        bounds = f"__launch_bounds__({THREADS}, {width} > 1 ? 8 : 6) "
        edits.append((head.start_byte, head.start_byte, bounds))
        tiles_of = helper_name(source, "tiles_of", TILES)
        for launch in kernel.launches:
            across, down = on_host(kernel, launch, text(u.bound)), on_host(kernel, launch, text(v.bound))
            if across is None or down is None or text(launch.statement).rstrip("; ") != text(launch.node):
                return None
            rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
            given = ", ".join(text(n) for n in launch.arguments)
            roots = [f"reinterpret_cast<size_t>({launch.argument(kernel, a.root)})" for a in (loads[0], stores[0])]
            calls = []
            for each in widths:
                rows, columns_of = _tile(types, each)
                tiles = f"{tiles_of}({across}, {columns_of}, 2147483647)", f"{tiles_of}({down}, {rows}, 65535)"
                call = f"{kernel.name}<{each}><<<dim3({', '.join(tiles)}), {THREADS}{rest}>>>({given});"
                fits = f"({across}) % {each} == 0 && ({down}) % {each} == 0 && ({' | '.join(roots)}) % 16 == 0"
                enough = f"(long long){tiles[0]} * {tiles[1]} >= {setting.multiprocessors}"
                calls.append(
                    f"if ({fits} &&\n    {enough}) {{\n    {call}\n}} else " if each > 1 else f"{{\n    {call}\n}}"
                )
            chain = "".join(calls) if len(calls) > 1 else calls[0][2:-2].strip()
            edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chain, 4).lstrip()))
        return with_helper(with_helper(edited(source.text, edits), tiles_of, TILES), columns, COLUMNS)


def _tile(types: list[str], width: int) -> tuple[int, int]:
    """Return the rows and columns of a tile: rows of 128 bytes where pieces are wide."""
    return (HIGH, 128 // SIZES[types[0]]) if width > 1 else (SIDE, SIDE)


def _code(u: Axis, v: Axis, places: tuple[str, str], value: str, types: list[str], wide: bool) -> str:
    """Write a kernel that reads along u and writes along v."""
    narrow = _narrow(u, v, places, value, types)
    if not wide:
        return narrow
    pieces = _wide(u, v, places, value, types)
    return f"if constexpr ($Width > 1) {{\n{indented(pieces, 4)}\n}} else {{\n{indented(narrow, 4)}\n}}"


def _wide(u: Axis, v: Axis, places: tuple[str, str], value: str, types: list[str]) -> str:
    """Write the copy in pieces of 16 bytes: a thread takes rows of words out of the tile and writes whole columns."""
    (load, store), (read, written) = places, types
    words = max(1, 4 // SIZES[written])
    inside = f"{v.variable} < {text(v.bound)} && {u.variable} < {text(u.bound)}"
    cell = substitute(value, {u.variable: f"({u.variable} + @w)"})
    return f"""\
constexpr int @rows = {HIGH}, @pieces = 8, @each = @rows * @pieces / {THREADS};
// Piece p of row r lies at p ^ (r / $Width): in either direction the threads of a warp are at different banks.
__shared__ $Columns<{written}, $Width> @tile[@rows][@pieces];
const long long @first_column = blockIdx.x * (long long)(@pieces * $Width);
for (long long @first_row = blockIdx.y * (long long)@rows; @first_row < {text(v.bound)};
     @first_row += gridDim.y * (long long)@rows) {{
    $Columns<{read}, $Width> @next[@each];
    const int @piece = threadIdx.x % @pieces;
    const long long {u.variable} = @first_column + @piece * $Width;
    #pragma unroll
    for (int @n = 0; @n < @each; ++@n) {{
        const long long {v.variable} = @first_row + threadIdx.x / @pieces + @n * ({THREADS} / @pieces);
        if ({inside}) @next[@n] = *reinterpret_cast<const $Columns<{read}, $Width>*>(&{load});
    }}
    #pragma unroll
    for (int @n = 0; @n < @each; ++@n) {{
        const int @line = threadIdx.x / @pieces + @n * ({THREADS} / @pieces);
        const long long {v.variable} = @first_row + @line;
        $Columns<{written}, $Width> @straight;
        #pragma unroll
        for (int @w = 0; @w < $Width; ++@w) @straight.at[@w] = {cell};
        if ({inside}) @tile[@line][@piece ^ @line / $Width % @pieces] = @straight;
    }}
    __syncthreads();
    const int @word = threadIdx.x / @pieces;
    #pragma unroll
    for (int @part = @piece; @part < @rows / $Width; @part += @pieces) {{
        const long long {v.variable} = @first_row + @part * $Width;
        $Columns<{written}, $Width> @turned[{words}];
        #pragma unroll
        for (int @w = 0; @w < $Width; ++@w) {{
            const auto @four = @tile[@part * $Width + @w] + (@word / 4 ^ @piece);
            const auto @got = reinterpret_cast<const $Columns<{written}, {words}>*>(@four)[@word % 4];
            #pragma unroll
            for (int @c = 0; @c < {words}; ++@c) @turned[@c].at[@w] = @got.at[@c];
        }}
        #pragma unroll
        for (int @c = 0; @c < {words}; ++@c) {{
            const long long {u.variable} = @first_column + @word * {words} + @c;
            // As one access: the compiler would take an assignment of elements apart.
            if ({inside}) __stwb(reinterpret_cast<uint4*>(&{store}), *reinterpret_cast<const uint4*>(&@turned[@c]));
        }}
    }}
    __syncthreads();
}}"""


def _narrow(u: Axis, v: Axis, places: tuple[str, str], value: str, types: list[str]) -> str:
    """Write the copy one element at a time."""
    (load, store), (read, written) = places, types
    inside = f"{v.variable} < {text(v.bound)} && {u.variable} < {text(u.bound)}"
    down, across = f"{v.variable} = @first_row", f"{u.variable} = @first_column"
    split = f"const int @e = threadIdx.x + @n * {THREADS}, @line = @e / {SIDE}, @place = @e % {SIDE};"
    cell = value.replace(".at[@w]", "")
    return f"""\
constexpr int @each = {SIDE * SIDE // THREADS};
// The padding keeps the banks of a column apart.
__shared__ {written} @tile[{SIDE}][{SIDE} + {max(1, 4 // SIZES[written])}];
const long long @first_column = blockIdx.x * {SIDE}LL;
for (long long @first_row = blockIdx.y * {SIDE}LL; @first_row < {text(v.bound)}; @first_row += gridDim.y * {SIDE}LL) {{
    {read} @next[@each];
    #pragma unroll
    for (int @n = 0; @n < @each; ++@n) {{
        {split}
        const long long {down} + @line, {across} + @place;
        if ({inside}) @next[@n] = {load};
    }}
    #pragma unroll
    for (int @n = 0; @n < @each; ++@n) {{
        {split}
        const long long {down} + @line, {across} + @place;
        if ({inside}) @tile[@line][@place] = {cell};
    }}
    __syncthreads();
    #pragma unroll
    for (int @n = 0; @n < @each; ++@n) {{
        {split}
        const long long {down} + @place, {across} + @line;
        if ({inside}) {store} = @tile[@place][@line];
    }}
    __syncthreads();
}}"""


def _whole_rows(kernel: Kernel, place: Node, axis: Axis) -> bool:
    """Return whether an access starts its rows at multiples of the axis' length, a scalar of the kernel."""
    bound = kernel.parameter(text(axis.bound))
    index = kernel.accesses_in(place, axis.variable)[0].index
    rest = without(index, axis.variable)
    scalar = bound is not None and not bound.pointer and bound.name not in kernel.assigned
    return scalar and all(text(axis.bound) in key for key in rest) and not shows(rest, axis.variable)


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
