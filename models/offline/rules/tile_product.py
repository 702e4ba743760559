"""Sums of products over a common index: tiles in shared memory, several results per thread; tensor cores for bf16."""

from __future__ import annotations

from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, include, indented, on_host, with_helper
from ..macros import expanded
from ..product import Product, find_product, operand_lines, point_code, row_tiles, runs_along, turns_of
from ..rule import KernelRule, Setting
from ..space import Axis
from ..syntax import Kernel, edited, text
from ..tensor_tile import STAGES, TENSOR_THREADS, plain_bf16, strides, tensor_code
from ..unflatten import unflattened

TILES = """\
// Tiles of `size` that cover `length`; at least one, at most `most` (the kernel strides over the rest).
static unsigned {name}(long long length, int size, int most) {{
    const long long tiles = (length + size - 1) / size;
    return (unsigned)(tiles < 1 ? 1 : tiles > most ? most : tiles);
}}
"""


THREADS = 256
"""Threads of a block without tensor cores: small tiles are made by several groups, each a part of every sum."""


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
        tensor = setting.on_gpu and setting.narrow == 0
        tensor = tensor and all(n is not None and strides(kernel, product, n, a) is not None for n, a in both)
        if tensor:
            assert left is not None
            assert right is not None
            code, threads = tensor_code(kernel, product, left, right), dict.fromkeys((128, 64, 32), TENSOR_THREADS)
        else:
            stages = STAGES if setting.on_gpu and setting.narrow == 0 else 2
            code, threads = _registers(kernel, product, stages), dict.fromkeys((128, 64, 32), THREADS)
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
        result = include(result, "mma.h") if tensor else result
        return include(result, "cuda_pipeline.h") if "__pipeline_commit" in code else result


def _registers(kernel: Kernel, p: Product, stages: int) -> str:
    """Return the body of a kernel that makes a product in registers; operands of plain floats are copied ahead."""
    cols, (start, go_on) = text(p.col.bound), turns_of(p)
    preamble = "\n".join(dedented(text(n)) for n in p.space.preamble)
    (from_left, hold_left, left, keep_left), (from_right, hold_right, right, keep_right) = (
        _fill(kernel, p, n, axis, ahead=stages > 2) for n, axis in ((p.left, p.row), (p.right, p.col))
    )
    point = indented(point_code(kernel, p, "@row_there", "@col_there", "@sums[@i][@j]"), 20)
    summed = indented(point_code(kernel, p, "@row_there", "@col_there", "@whole_sum"), 20)
    depth = "8" if p.outer else "@side == 128 ? 8 : @side == 64 ? 16 : 32"
    wait = f"__pipeline_wait_prior({stages - 2});\n" if stages > 2 else ""
    commit = "__pipeline_commit();\n" if stages > 2 else ""
    return f"""\
constexpr int @per_thread = @side == 32 ? 4 : 8, @across = @side / @per_thread;
// Small tiles are deep where k is long: fewer turns to wait for memory in.
constexpr int @depth = {depth};
constexpr int @threads = {THREADS}, @each = @side * @depth / @threads;
// Groups of threads that each make the whole tile, from a part of every turn's steps.
constexpr int @of_group = @across * @across, @groups = @threads / @of_group;
// {stages} tiles of each: one is used while the next ones are filled.
__shared__ alignas(16) float @left_tile[{stages}][@depth][@side + 4];
__shared__ alignas(16) float @right_tile[{stages}][@depth][@side + 4];
__shared__ alignas(16) float @group_sums[@groups][@groups > 1 ? @across : 1][@side];
const int @group_at = threadIdx.x / @of_group;
const int @thread_row = threadIdx.x % @of_group / @across * 4, @thread_col = threadIdx.x % @across * 4;
{preamble}
{row_tiles(p)}
    float @sums[@per_thread][@per_thread] = {{}};
    {{
{indented(from_left + from_right + start, 8)}
        for (long long @turn = 0; @turn < @turns + {stages - 1}; ++@turn) {{
            if (@turn >= {stages - 1}) {{
{indented(wait, 16)}                __syncthreads();
            }}
            const bool @more = @turn < @turns;
            const int @next = @turn % {stages}, @now = (@turn + 1) % {stages};
{indented(hold_left + hold_right, 12)}            if (@more) {{
{indented(left, 16)}
{indented(right, 16)}
            }}
{indented(commit, 12)}            if (@turn >= {stages - 1}) {{
                #pragma unroll
                for (int @own_step = 0; @own_step < @depth / @groups; ++@own_step) {{
                    const int @step = @own_step * @groups + @group_at;
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
            if (@more) {{
{indented(keep_left + keep_right, 16)}{indented(go_on, 16)}
            }}
        }}
        __syncthreads();
    }}
    #pragma unroll
    for (int @i = 0; @i < @per_thread; ++@i) {{
        const int @first_of_piece = @i / 4 * 4 * @across + @i % 4;
        if (@groups == 1) {{
            #pragma unroll
            for (int @j = 0; @j < @per_thread; ++@j) {{
                const long long @row_there = @first_row + @first_of_piece + @thread_row;
                const long long @col_there = @first_col + @j / 4 * 4 * @across + @thread_col + @j % 4;
                if (@row_there < @end_row && @col_there < {cols}) {{
{point}
                }}
            }}
        }} else {{
            #pragma unroll
            for (int @j = 0; @j < @per_thread; ++@j) {{
                @group_sums[@group_at][@thread_row / 4][@j / 4 * 4 * @across + @thread_col + @j % 4] = @sums[@i][@j];
            }}
            __syncthreads();
            for (int @e = threadIdx.x; @e < @across * @side; @e += @threads) {{
                const long long @row_there = @first_row + @first_of_piece + @e / @side * 4;
                const long long @col_there = @first_col + @e % @side;
                float @whole_sum = 0.0f;
                #pragma unroll
                for (int @g = 0; @g < @groups; ++@g) {{
                    @whole_sum += @group_sums[@g][@groups > 1 ? @e / @side : 0][@e % @side];
                }}
                if (@row_there < @end_row && @col_there < {cols}) {{
{summed}
                }}
            }}
            __syncthreads();
        }}
    }}
}}"""


def _at(along: bool) -> str:
    """Return which row or column of a tile element `@e` belongs to: neighbouring threads read neighbours in memory."""
    return "@e / @depth" if along else "@e % @side"


def _step(along: bool) -> str:
    return "@e % @depth" if along else "@e / @side"


def _fill(kernel: Kernel, p: Product, operand: Node, axis: Axis, *, ahead: bool) -> tuple[str, str, str, str]:
    """Return code for a thread's part of one operand: where it starts, what holds it on its way, and a turn's two ends.

    Plain floats are copied to shared memory by themselves (`ahead`); others go by way of registers.
    """
    which = "left" if axis is p.row else "right"
    first = "@first_row" if axis is p.row else "@first_col"
    bound = "@end_row" if axis is p.row else text(axis.bound)
    along = runs_along(kernel, p, operand)
    place = f"@{which}_tile[@next][{_step(along)}][{_at(along)}]"
    access = kernel.accesses_in(operand)[0]
    parameter = kernel.parameter(access.root)
    plain = ahead and parameter is not None and parameter.type == "float" and text(access.node) == text(operand)
    steps = strides(kernel, p, operand, axis)
    value, element = text(operand), text(access.node)
    own = f"const long long {axis.variable} = {first} + {_at(along)};\n"
    common = f"const long long {p.k} = @next_k + {_step(along)};\n"
    start, lines, moved = "", f"{own}{common}{operand_lines(kernel, p, operand, axis)}", ""
    if steps is not None and parameter is not None:
        # The part of an address that depends on the row or the column is computed once.
        zero = "".join(f"const long long {name} = 0;\n" for name in steps if name != p.k)
        start = f"""\
const bool @{which}_whole = {first} + @side <= {bound};
const {parameter.type}* @{which}_from[@each];
#pragma unroll
for (int @n = 0; @n < @each; ++@n) {{
    const unsigned @e = threadIdx.x + @n * @threads;
{indented(f"{own}const long long {p.k} = {_step(along)};{chr(10)}{zero}", 4)}\
{operand_lines(kernel, p, operand, axis)}    @{which}_from[@n] = &{element};
}}
"""
        by = " + ".join(f"{'@next_k' if name == p.k else name} * ({step})" for name, step in steps.items())
        moved = f"const long long @{which}_moved = {by};\n"
        value, element = (
            value.replace(element, f"@{which}_from[@n][@{which}_moved]"),
            f"@{which}_from[@n][@{which}_moved]",
        )
        lines = own + common
    inside = f"{axis.variable} < {bound} && {p.k} < {text(p.k_end)}"
    if plain:
        copy = (
            f"if ({inside}) {{\n    __pipeline_memcpy_async(&{place}, &{element}, sizeof(float));\n"
            f"}} else {{\n    {place} = 0.0f;\n}}"
        )
        hold = keep = ""
        quick = f"__pipeline_memcpy_async(&{place}, &{element}, sizeof(float));"
    else:
        hold = f"float @{which}_next[@each];\n"
        copy = f"@{which}_next[@n] = {inside} ? {value} : 0.0f;"
        quick = f"@{which}_next[@n] = {value};"
        keep = f"""\
#pragma unroll
for (int @n = 0; @n < @each; ++@n) {{
    const unsigned @e = threadIdx.x + @n * @threads;
    {place} = @{which}_next[@n];
}}
"""

    def each(lines: str) -> str:
        own_part = "const unsigned @e = threadIdx.x + @n * @threads;\n"
        return f"#pragma unroll\nfor (int @n = 0; @n < @each; ++@n) {{\n{indented(own_part + lines, 4)}\n}}"

    if not start:
        return start, hold, each(lines + copy), keep
    # Inside a matrix nothing is compared.
    inner = f"@{which}_whole && @next_k + @depth <= {text(p.k_end)}"
    fill = f"{moved}if ({inner}) {{\n{indented(each(quick), 4)}\n}} else {{\n{indented(each(lines + copy), 4)}\n}}"
    return start, hold, fill, keep
