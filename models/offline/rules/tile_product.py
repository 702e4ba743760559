"""Sums of products over a common index: tiles in shared memory, several results per thread; tensor cores for bf16."""

from __future__ import annotations

from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, include, indented, on_host, with_helper
from ..macros import expanded
from ..product import Product, declarations, find_product, group_row, point_code, row_tiles, runs_along, turns_of
from ..rule import KernelRule, Setting
from ..space import Axis
from ..syntax import Kernel, edited, text
from ..tensor_tile import TENSOR_THREADS, plain_bf16, strides, tensor_code
from ..unflatten import unflattened

TILES = """\
// Tiles of `size` that cover `length`; at least one, at most `most` (the kernel strides over the rest).
static unsigned {name}(long long length, int size, int most) {{
    const long long tiles = (length + size - 1) / size;
    return (unsigned)(tiles < 1 ? 1 : tiles > most ? most : tiles);
}}
"""


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
        left, right = plain_bf16(kernel, product.left), plain_bf16(kernel, product.right)
        both = ((left, product.row), (right, product.col))
        tensor = setting.tensor_cores and setting.narrow == 0
        tensor = tensor and all(n is not None and strides(kernel, product, n, a) is not None for n, a in both)
        if tensor:
            assert left is not None
            assert right is not None
            code, threads = tensor_code(kernel, product, left, right), dict.fromkeys((128, 64), TENSOR_THREADS)
        else:
            code, threads = _registers(kernel, product), {128: 256, 64: 256, 32: 64}
        code = fresh(source, code)
        side, tiles_of = source.unique("side"), helper_name(source, "tiles_of", TILES)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {side}>\n"))
        at = kernel.declarator.start_byte
        edits.append((at, at, f"__launch_bounds__({max(threads.values())}, 2) "))
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


def _registers(kernel: Kernel, p: Product) -> str:
    cols, end, (start, go_on) = text(p.col.bound), text(p.k_end), turns_of(p)
    preamble = "\n".join(dedented(text(n)) for n in p.space.preamble)
    kept = {a: _fill(kernel, p, n, v) for a, n, v in (("left", p.left, p.row), ("right", p.right, p.col))}
    along = {a: runs_along(kernel, p, n) for a, n in (("left", p.left), ("right", p.right))}
    point = indented(point_code(kernel, p, "@row_there", "@col_there", "@sums[@i][@j]"), 16)
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
{row_tiles(p)}
    float @sums[@per_thread][@per_thread] = {{}};
    {{
        int @now = 0;
{indented(start, 8)}
        for (long long @turn = 0; @turn <= @turns; ++@turn) {{
            if (@turn == @turns) @next_k = {end};
            float @left_next[@each], @right_next[@each];
{indented(kept["left"], 12)}
{indented(kept["right"], 12)}
            if (@turn > 0) {{
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
{indented(go_on, 12)}
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
    along = runs_along(kernel, p, operand)
    lines = group_row(p, axis) + "".join(f"    {d}\n" for d in declarations(p, operand, kernel))
    return f"""\
#pragma unroll
for (int @n = 0; @n < @each; ++@n) {{
    const int @e = threadIdx.x + @n * @threads;
    const long long {axis.variable} = {first} + {_at(along)};
    const long long {p.k} = @next_k + {_step(along)};
{lines}    @{which}_next[@n] = {axis.variable} < {bound} && {p.k} < {text(p.k_end)} ? {text(operand)} : 0.0f;
}}"""
