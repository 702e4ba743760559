"""Sums of products over a common index: tiles in shared memory, several results per thread; tensor cores for bf16."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, include, indented, on_host, with_helper
from ..loops import for_parts
from ..macros import expanded
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Axis, Space, index_space
from ..syntax import (
    BF16,
    Kernel,
    coefficient,
    edited,
    real,
    statements,
    substitute,
    text,
    walk,
)
from ..unflatten import unflattened
from ..values import declared, declares_zero, depends, loop_head

TILES = """\
// Tiles of `size` that cover `length`; at least one, at most `most` (the kernel strides over the rest).
static unsigned {name}(long long length, int size, int most) {{
    const long long tiles = (length + size - 1) / size;
    return (unsigned)(tiles < 1 ? 1 : tiles > most ? most : tiles);
}}
"""


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


class TileProduct(KernelRule):
    """Every thread reads its own row and column: share them."""

    name: ClassVar[str] = "tile_shared"
    answers: ClassVar[tuple[str, ...]] = ("excess_traffic", "tensor_cores_unused", "stall_mix", "narrow_loads")
    worth: ClassVar[float] = 30.0
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = (
        "each result reads a whole row and a whole column from memory: tiles in shared memory let a block read each "
        "element once per tile, and several results per thread keep them in registers (in bf16: on the tensor cores)"
    )
    effect: ClassVar[str] = "global loads fall by the tile's width, the arithmetic units become the limit"
    steps: ClassVar[int] = 3

    def spelled(self, code: str) -> str:
        """Write out macros."""
        return expanded(code)

    def forms(self, kernel: Kernel) -> tuple[Kernel | None, ...]:
        """Read a kernel over one long index as one over rows and columns, too."""
        return kernel, unflattened(kernel)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Compute a tile of the product from tiles of its factors."""
        source, product = kernel.source, find_product(kernel)
        if product is None:
            return None
        rows, cols = text(product.row.bound), text(product.col.bound)
        left, right = _plain(kernel, product.left), _plain(kernel, product.right)
        tensor = setting.tensor_cores and setting.narrow == 0 and left is not None and right is not None
        if tensor:
            assert left is not None
            assert right is not None
            code, threads = self._tensor(kernel, product, left, right), {128: 256, 64: 256}
        else:
            code, threads = self._registers(kernel, product), {128: 256, 64: 256, 32: 64}
        code = fresh(source, code)
        side, tiles_of = source.unique("side"), helper_name(source, "tiles_of", TILES)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {side}>\n"))
        edits.append((kernel.declarator.start_byte, kernel.declarator.start_byte, "__launch_bounds__(256, 2) "))
        for launch in kernel.launches:
            high, wide = on_host(kernel, launch, rows), on_host(kernel, launch, cols)
            if high is None or wide is None or launch.statement.type != "expression_statement":
                return None
            if text(launch.statement).rstrip("; ") != text(launch.node):
                return None
            rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
            given = ", ".join(text(n) for n in launch.arguments)
            choices = []
            for size, block in threads.items():
                if setting.narrow == 2 and size > 64:
                    continue
                tall = f"{tiles_of}({high}, {size}, 65535)"
                if product.group:
                    together = on_host(kernel, launch, product.group)
                    tall = f"{tiles_of}(({high}) / {together} * {tiles_of}({together}, {size}, 65535), 1, 65535)"
                grid = f"dim3({tiles_of}({wide}, {size}, 2147483647), {tall})"
                enough = f"if ((long long){tiles_of}({wide}, {size}, 2147483647) * {tall}"
                call = f"{{\n    {kernel.name}<{size}><<<{grid}, {block}{rest}>>>({given});\n}}"
                last = size == min(threads)
                choices.append(call if last else f"{enough} >= {setting.multiprocessors}) {call}")
            chain = "// The widest tile that gives every multiprocessor one.\n" + " else ".join(choices)
            edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chain, 4).lstrip()))
        edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
        result = with_helper(edited(source.text, edits), tiles_of, TILES)
        return include(include(result, "mma.h"), "cuda_pipeline.h") if tensor else result

    def _point(self, kernel: Kernel, product: Product, row: str, col: str, value: str) -> str:
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

    def _registers(self, kernel: Kernel, p: Product) -> str:
        cols, end, outer = text(p.col.bound), text(p.k_end), _outer(p)
        preamble = "\n".join(dedented(text(n)) for n in p.space.preamble)
        kept = {a: _fill(kernel, p, n, v) for a, n, v in (("left", p.left, p.row), ("right", p.right, p.col))}
        along = {a: _runs_along(kernel, p, n) for a, n in (("left", p.left), ("right", p.right))}
        point = indented(self._point(kernel, p, "@row_there", "@col_there", "@sums[@i][@j]"), 16)
        depth = "8" if p.outer else "@side == 128 ? 8 : @side == 64 ? 16 : 32"
        return f"""\
constexpr int @per_thread = @side == 128 ? 8 : 4, @across = @side / @per_thread;
// Small tiles are deep where k is long: fewer turns to wait for memory in.
constexpr int @depth = {depth};
constexpr int @threads = @across * @across, @each = @side * @depth / @threads;
// Two tiles of each: one is filled while the other is used.
__shared__ alignas(16) float @left_tile[2][@depth][@side + 4];
__shared__ alignas(16) float @right_tile[2][@depth][@side + 4];
const int @thread_row = threadIdx.x / @across * 4, @thread_col = threadIdx.x % @across * 4;
{preamble}
{_row_tiles(p)}
    float @sums[@per_thread][@per_thread] = {{}};
    {outer}{{
        int @now = 0;
        for (long long @next_k = 0; @next_k < {end} + @depth; @next_k += @depth) {{
            float @left_next[@each], @right_next[@each];
{indented(kept["left"], 12)}
{indented(kept["right"], 12)}
            if (@next_k > 0) {{
                #pragma unroll
                for (int @step = 0; @step < @depth; ++@step) {{
                    float @a[@per_thread], @b[@per_thread];
                    #pragma unroll
                    for (int @i = 0; @i < @per_thread; @i += 4) {{
                        *reinterpret_cast<float4*>(@a + @i) =
                            *reinterpret_cast<const float4*>(&@left_tile[@now][@step][@i * @across + @thread_row]);
                        *reinterpret_cast<float4*>(@b + @i) =
                            *reinterpret_cast<const float4*>(&@right_tile[@now][@step][@i * @across + @thread_col]);
                    }}
                    #pragma unroll
                    for (int @i = 0; @i < @per_thread; ++@i) {{
                        #pragma unroll
                        for (int @j = 0; @j < @per_thread; ++@j) @sums[@i][@j] += @a[@i] * @b[@j];
                    }}
                }}
            }}
            @now ^= 1;
            #pragma unroll
            for (int @n = 0; @n < @each; ++@n) {{
                const int @e = threadIdx.x + @n * @threads;
                @left_tile[@now][{_step(along["left"])}][{_at(along["left"])}] = @left_next[@n];
                @right_tile[@now][{_step(along["right"])}][{_at(along["right"])}] = @right_next[@n];
            }}
            __syncthreads();
        }}
    }}
    #pragma unroll
    for (int @i = 0; @i < @per_thread; ++@i) {{
        #pragma unroll
        for (int @j = 0; @j < @per_thread; ++@j) {{
            const long long @row_there = @first_row + @i / 4 * 4 * @across + @thread_row + @i % 4;
            const long long @col_there = @first_col + @j / 4 * 4 * @across + @thread_col + @j % 4;
            if (@row_there < @end_row && @col_there < {cols}) {{
{point}
            }}
        }}
    }}
}}"""

    def _tensor(self, kernel: Kernel, p: Product, left: Node, right: Node) -> str:
        cols, end, outer = text(p.col.bound), text(p.k_end), _outer(p)
        preamble = "\n".join(dedented(text(n)) for n in p.space.preamble)
        fill_left = _fill_bf16(kernel, p, left, p.row, "left")
        fill_right = _fill_bf16(kernel, p, right, p.col, "right")
        point = indented(self._point(kernel, p, "@row_there", "@col_there", "@result[@e]"), 20)
        right_layout = "col_major" if _runs_along(kernel, p, right) else "row_major"
        right_shape = "[2][@side][@depth + 8]" if right_layout == "col_major" else "[2][@depth][@side + 8]"
        right_at = (
            "&@right_tile[@now][@warp_col + @j * 16][@step], @depth + 8"
            if right_layout == "col_major"
            else "&@right_tile[@now][@step][@warp_col + @j * 16], @side + 8"
        )
        left_layout = "row_major" if _runs_along(kernel, p, left) else "col_major"
        left_shape = "[2][@side][@depth + 8]" if left_layout == "row_major" else "[2][@depth][@side + 8]"
        left_at = (
            "&@left_tile[@now][@warp_row + @i * 16][@step], @depth + 8"
            if left_layout == "row_major"
            else "&@left_tile[@now][@step][@warp_row + @i * 16], @side + 8"
        )
        return f"""\
using namespace nvcuda;
constexpr int @depth = 32;
__shared__ alignas(16) __nv_bfloat16 @left_tile{left_shape};
__shared__ alignas(16) __nv_bfloat16 @right_tile{right_shape};
__shared__ alignas(16) float @results[8][256];
const int @warp = threadIdx.x / 32, @lane = threadIdx.x % 32;
const int @warp_row = @warp / 4 * (@side / 2), @warp_col = @warp % 4 * (@side / 4);
{preamble}
{_row_tiles(p)}
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> @sums[@side / 32][@side / 64];
    for (int @i = 0; @i < @side / 32; ++@i) {{
        for (int @j = 0; @j < @side / 64; ++@j) wmma::fill_fragment(@sums[@i][@j], 0.0f);
    }}
    {outer}{{
        int @now = 0;
        // The next tile is on its way while this one is used.
        for (long long @next_k = 0; @next_k < {end} + @depth; @next_k += @depth) {{
            if (@next_k < {end}) {{
{indented(fill_left, 16)}
{indented(fill_right, 16)}
            }}
            __pipeline_commit();
            if (@next_k > 0) {{
                __pipeline_wait_prior(1);
                __syncthreads();
                #pragma unroll
                for (int @step = 0; @step < @depth; @step += 16) {{
                    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::{left_layout}> @a[@side / 32];
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::{right_layout}> @b[@side / 64];
                    #pragma unroll
                    for (int @i = 0; @i < @side / 32; ++@i) wmma::load_matrix_sync(@a[@i], {left_at});
                    #pragma unroll
                    for (int @j = 0; @j < @side / 64; ++@j) wmma::load_matrix_sync(@b[@j], {right_at});
                    #pragma unroll
                    for (int @i = 0; @i < @side / 32; ++@i) {{
                        #pragma unroll
                        for (int @j = 0; @j < @side / 64; ++@j) {{
                            wmma::mma_sync(@sums[@i][@j], @a[@i], @b[@j], @sums[@i][@j]);
                        }}
                    }}
                }}
                __syncthreads();
            }}
            @now ^= 1;
        }}
    }}
    float* @result = @results[@warp];
    #pragma unroll
    for (int @i = 0; @i < @side / 32; ++@i) {{
        #pragma unroll
        for (int @j = 0; @j < @side / 64; ++@j) {{
            wmma::store_matrix_sync(@result, @sums[@i][@j], 16, wmma::mem_row_major);
            __syncwarp();
            for (int @e = @lane; @e < 256; @e += 32) {{
                const long long @row_there = @first_row + @warp_row + @i * 16 + @e / 16;
                const long long @col_there = @first_col + @warp_col + @j * 16 + @e % 16;
                if (@row_there < @end_row && @col_there < {cols}) {{
{point}
                }}
            }}
            __syncwarp();
        }}
    }}
}}"""


def _row_tiles(p: Product) -> str:
    """Return the head of the loop over tiles of rows; the rows of a tile belong to one group."""
    rows, group = text(p.row.bound), p.group or text(p.row.bound)
    return f"""\
const long long @first_col = blockIdx.x * (long long)@side;
const long long @group = {group}, @in_group = (@group + @side - 1) / @side, @row_tiles = ({rows}) / @group * @in_group;
for (long long @tile = blockIdx.y; @tile < @row_tiles; @tile += gridDim.y) {{
    const long long @first_row = @tile / @in_group * @group + @tile % @in_group * @side;
    const long long @end_row = (@tile / @in_group + 1) * @group;"""


def _outer(p: Product) -> str:
    """Return the heads of the loops around the one over k."""
    return "".join(f"{loop_head(node)} " for node in p.outer)


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
    sum_ = real(inner[0].named_children)[0] if inner[0].type == "expression_statement" else None
    if sum_ is None or sum_.type != "assignment_expression" or text(sum_.child_by_field_name("operator")) != "+=":
        return None
    total = text(sum_.child_by_field_name("left"))
    value = sum_.child_by_field_name("right")
    if value is None or value.type != "binary_expression" or text(value.child_by_field_name("operator")) != "*":
        return None
    position = space.body.index(first)
    before = list(space.body[:position])
    start = next((n for n in before if n.type == "declaration" and declares_zero(n, total)), None)
    if start is None or kernel.declared.get(total) != "float":
        return None
    before.remove(start)
    if any(n.type != "declaration" for n in before) or total in {text(n) for s in before for n in walk(s)}:
        return None
    names = [a.variable for a in space.axes]
    operands = [value.child_by_field_name("left"), value.child_by_field_name("right")]
    needs = [depends(kernel, n) for n in operands]
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
    after = space.body[position + 1 :]
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


def _plain(kernel: Kernel, node: Node) -> Node | None:
    """Return the subscript of an operand that is a bf16 element converted to float, nothing else."""
    accesses = kernel.accesses_in(node)
    parameter = kernel.parameter(accesses[0].root)
    if parameter is None or parameter.type not in BF16:
        return None
    inner = text(accesses[0].node)
    forms = (f"__bfloat162float({inner})", f"static_cast<float>({inner})", f"(float){inner}", f"float({inner})")
    return accesses[0].node if text(node).replace(" ", "") in [f.replace(" ", "") for f in forms] else None


def _runs_along(kernel: Kernel, p: Product, operand: Node) -> bool:
    """Return whether the common index is an operand's fast axis."""
    access = kernel.accesses_in(operand)[0]
    return coefficient(access.index, p.k) == {(): 1}


def _declarations(p: Product, operand: Node, kernel: Kernel) -> list[str]:
    """Return the declarations before the loop that an operand needs."""
    needed = depends(kernel, operand)
    return [dedented(text(n)) for n in p.before if needed & declared(n)]


def _at(along: bool) -> str:
    """Return which row or column of a tile element `@e` belongs to: neighbouring threads read neighbours in memory."""
    return "@e / @depth" if along else "@e % @side"


def _step(along: bool) -> str:
    return "@e % @depth" if along else "@e / @side"


def _fill(kernel: Kernel, p: Product, operand: Node, axis: Axis) -> str:
    """Return the code that brings a thread's part of one operand's next tile to registers."""
    which = "left" if axis is p.row else "right"
    first = "@first_row" if axis is p.row else "@first_col"
    bound = "@end_row" if axis is p.row else text(axis.bound)
    along = _runs_along(kernel, p, operand)
    lines = _group_row(p, axis) + "".join(f"    {d}\n" for d in _declarations(p, operand, kernel))
    return f"""\
#pragma unroll
for (int @n = 0; @n < @each; ++@n) {{
    const int @e = threadIdx.x + @n * @threads;
    const long long {axis.variable} = {first} + {_at(along)};
    const long long {p.k} = @next_k + {_step(along)};
{lines}    @{which}_next[@n] = {axis.variable} < {bound} && {p.k} < {text(p.k_end)} ? {text(operand)} : 0.0f;
}}"""


def _group_row(p: Product, axis: Axis) -> str:
    """Return the declaration of the row that names a tile's group, where the other operand needs it."""
    return f"    const long long {p.row.variable} = @first_row;\n" if p.group and axis is p.col else ""


def _fill_bf16(kernel: Kernel, p: Product, operand: Node, axis: Axis, which: str) -> str:
    """Return the code that brings a bf16 tile to shared memory, 16 bytes at a time where that is aligned."""
    first = "@first_row" if axis is p.row else "@first_col"
    along = _runs_along(kernel, p, operand)
    at, step = ("@e / (@depth / 8)", "@e % (@depth / 8) * 8") if along else ("@e % (@side / 8) * 8", "@e / (@side / 8)")
    lines = _group_row(p, axis) + "".join(f"    {d}\n" for d in _declarations(p, operand, kernel))
    place = f"@{which}_tile[@now ^ 1]{'[@at][@step]' if along else '[@step][@at]'}"
    last = "@end_row" if axis is p.row else text(axis.bound)
    fast, bound = (p.k, text(p.k_end)) if along else (axis.variable, last)
    slow, limit = (axis.variable, last) if along else (p.k, text(p.k_end))
    item = substitute(text(operand), {fast: f"({fast} + @i)"})
    return f"""\
#pragma unroll
for (int @e = threadIdx.x; @e < @side * @depth / 8; @e += 256) {{
    const int @at = {at}, @step = {step};
    const long long {axis.variable} = {first} + @at;
    const long long {p.k} = @next_k + @step;
{lines}    if ({slow} < {limit} && {fast} + 8 <= {bound} && reinterpret_cast<size_t>(&{text(operand)}) % 16 == 0) {{
        __pipeline_memcpy_async(&{place}, &{text(operand)}, 16);
    }} else {{
        for (int @i = 0; @i < 8; ++@i) {{
            (&{place})[@i] = {slow} < {limit} && {fast} + @i < {bound} ? {item} : __float2bfloat16(0.0f);
        }}
    }}
}}"""
