"""Tiles of bf16 products on tensor cores: several in shared memory at a time, filled without going by registers."""

from __future__ import annotations

from tree_sitter import Node

from .emit import dedented, indented, polynomial_text
from .loops import for_parts
from .product import Product, operand_lines, point_code, row_tiles, runs_along, turns_of
from .space import Axis
from .syntax import BF16, Kernel, coefficient, shows, substitute, text, without

STAGES = 4
"""Tiles that are in shared memory at a time."""
TENSOR_THREADS = 128


def tensor_code(kernel: Kernel, p: Product, left: Node, right: Node) -> str:
    """Return the body of a kernel that makes a product on tensor cores, from the subscripts of its two operands."""
    cols, (start, go_on) = text(p.col.bound), turns_of(p)
    preamble = "\n".join(dedented(text(n)) for n in p.space.preamble)
    fill_left = _fill_bf16(kernel, p, left, p.row, "left")
    fill_right = _fill_bf16(kernel, p, right, p.col, "right")
    from_left, from_right = _from_bf16(kernel, p, left, p.row, "left"), _from_bf16(kernel, p, right, p.col, "right")
    point = indented(point_code(kernel, p, "@row_there", "@col_there", "@result[@e]"), 20)
    right_layout = "col_major" if runs_along(kernel, p, right) else "row_major"
    right_shape = "[@side][@depth + 8]" if right_layout == "col_major" else "[@depth][@side + 8]"
    right_at = (
        "&@right_tile[@stage][@warp_col + @j * 16][@step], @depth + 8"
        if right_layout == "col_major"
        else "&@right_tile[@stage][@step][@warp_col + @j * 16], @side + 8"
    )
    # Where there are several common indices the last one is short as a rule.
    depth = "16" if p.outer else "@side == 128 ? 16 : 32"
    left_layout = "row_major" if runs_along(kernel, p, left) else "col_major"
    left_shape = "[@side][@depth + 8]" if left_layout == "row_major" else "[@depth][@side + 8]"
    left_at = (
        "&@left_tile[@stage][@warp_row + @i * 16][@step], @depth + 8"
        if left_layout == "row_major"
        else "&@left_tile[@stage][@step][@warp_row + @i * 16], @side + 8"
    )
    return f"""\
using namespace nvcuda;
// Tiles of {STAGES} steps: one is used, the next ones are on their way. Each of four warps makes a quarter.
constexpr int @depth = {depth}, @each = @side / 32;
constexpr int @parts = (@side * @depth / 8 + {TENSOR_THREADS - 1}) / {TENSOR_THREADS};
__shared__ alignas(32) __nv_bfloat16 @left_tile[{STAGES}]{left_shape};
__shared__ alignas(32) __nv_bfloat16 @right_tile[{STAGES}]{right_shape};
const int @warp = threadIdx.x / 32, @lane = threadIdx.x % 32;
const int @warp_row = @warp / 2 * (@side / 2), @warp_col = @warp % 2 * (@side / 2);
{preamble}
{row_tiles(p)}
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> @sums[@each][@each];
    for (int @i = 0; @i < @each; ++@i) {{
        for (int @j = 0; @j < @each; ++@j) wmma::fill_fragment(@sums[@i][@j], 0.0f);
    }}
    {{
{indented(from_left, 8)}
{indented(from_right, 8)}
{indented(start, 8)}
        for (long long @turn = 0; @turn < @turns + {STAGES - 1}; ++@turn) {{
            if (@turn >= {STAGES - 1}) {{
                __pipeline_wait_prior({STAGES - 2});
                __syncthreads();
            }}
            if (@turn < @turns) {{
                const int @stage = @turn % {STAGES};
{indented(fill_left, 16)}
{indented(fill_right, 16)}
{indented(go_on, 16)}
            }}
            __pipeline_commit();
            if (@turn >= {STAGES - 1}) {{
                const int @stage = (@turn + 1) % {STAGES};
                #pragma unroll
                for (int @step = 0; @step < @depth; @step += 16) {{
                    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::{left_layout}> @a[@each];
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::{right_layout}> @b[@each];
                    #pragma unroll
                    for (int @i = 0; @i < @each; ++@i) wmma::load_matrix_sync(@a[@i], {left_at});
                    #pragma unroll
                    for (int @j = 0; @j < @each; ++@j) wmma::load_matrix_sync(@b[@j], {right_at});
                    #pragma unroll
                    for (int @i = 0; @i < @each; ++@i) {{
                        #pragma unroll
                        for (int @j = 0; @j < @each; ++@j) {{
                            wmma::mma_sync(@sums[@i][@j], @a[@i], @b[@j], @sums[@i][@j]);
                        }}
                    }}
                }}
            }}
        }}
        __syncthreads();
    }}
    // Results take the place of the tiles, which are used up.
    float* @result = reinterpret_cast<float*>(&@left_tile[0][0][0]) + @warp * 256;
    #pragma unroll
    for (int @i = 0; @i < @each; ++@i) {{
        #pragma unroll
        for (int @j = 0; @j < @each; ++@j) {{
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
    __syncthreads();
}}"""


def plain_bf16(kernel: Kernel, node: Node) -> Node | None:
    """Return the subscript of an operand that is a bf16 element converted to float, nothing else."""
    accesses = kernel.accesses_in(node)
    parameter = kernel.parameter(accesses[0].root)
    if parameter is None or parameter.type not in BF16:
        return None
    inner = text(accesses[0].node)
    forms = (f"__bfloat162float({inner})", f"static_cast<float>({inner})", f"(float){inner}", f"float({inner})")
    return accesses[0].node if text(node).replace(" ", "") in [f.replace(" ", "") for f in forms] else None


def strides(kernel: Kernel, p: Product, operand: Node, axis: Axis) -> dict[str, str] | None:
    """Return how far a step of each common index goes in memory, as code.

    None where that is no constant of the kernel, or where neither k nor the operand's own axis goes by one element.
    """
    scalars = {q.name for q in kernel.parameters if not q.pointer} - kernel.assigned
    index = kernel.accesses_in(operand, axis.variable)[0].index
    own = coefficient(index, axis.variable) == {(): 1} and not shows(without(index, axis.variable), axis.variable)
    if not own and not runs_along(kernel, p, operand):
        return None
    found = {}
    for name in (p.k, *(parts[0] for n in p.outer if (parts := for_parts(n)) is not None)):
        factor = coefficient(index, name)
        if shows(without(index, name), name) or any(key.count(name) > 1 for key in index):
            return None
        if any(atom not in scalars for key in factor for atom in key):
            return None
        found[name] = polynomial_text(factor)
    return found


def _from_bf16(kernel: Kernel, p: Product, operand: Node, axis: Axis, which: str) -> str:
    """Return the code that finds where a thread's parts of an operand start, and whether all are aligned and inside."""
    others = {name: by for name, by in (strides(kernel, p, operand, axis) or {}).items() if name != p.k}
    zero = "".join(f"    const long long {name} = 0;\n" for name in others)
    first, last = ("@first_row", "@end_row") if axis is p.row else ("@first_col", text(axis.bound))
    even = "".join(f" && ({by}) % 8 == 0" for by in others.values())
    return f"""\
const __nv_bfloat16* @{which}_from[@parts];
bool @{which}_whole = {first} + @side <= {last}{even};
#pragma unroll
for (int @n = 0; @n < @parts; ++@n) {{
{_part_bf16(kernel, p, operand, axis)}
    const long long {p.k} = @step;
{zero}{operand_lines(kernel, p, operand, axis)}    @{which}_from[@n] = &{text(operand)};
    @{which}_whole = @{which}_whole && reinterpret_cast<size_t>(@{which}_from[@n]) % 16 == 0;
}}"""


def _part_bf16(kernel: Kernel, p: Product, operand: Node, axis: Axis) -> str:
    """Return the declarations that say which part of an operand's tile is a thread's n-th."""
    along, first = runs_along(kernel, p, operand), "@first_row" if axis is p.row else "@first_col"
    at, step = ("@e / (@depth / 8)", "@e % (@depth / 8) * 8") if along else ("@e % (@side / 8) * 8", "@e / (@side / 8)")
    return f"""\
    const int @e = threadIdx.x + @n * {TENSOR_THREADS};
    if (@parts * {TENSOR_THREADS} > @side * @depth / 8 && @e >= @side * @depth / 8) continue;
    const int @at = {at}, @step = {step};
    const long long {axis.variable} = {first} + @at;"""


def _fill_bf16(kernel: Kernel, p: Product, operand: Node, axis: Axis, which: str) -> str:
    """Return the code that brings a bf16 tile to shared memory, 16 bytes at a time where that is aligned."""
    along = runs_along(kernel, p, operand)
    place = f"@{which}_tile[@stage]{'[@at][@step]' if along else '[@step][@at]'}"
    last = "@end_row" if axis is p.row else text(axis.bound)
    fast, bound = (p.k, text(p.k_end)) if along else (axis.variable, last)
    slow, limit = (axis.variable, last) if along else (p.k, text(p.k_end))
    item = substitute(text(operand), {fast: f"({fast} + @i)"})
    steps = (strides(kernel, p, operand, axis) or {}).items()
    moved = " + ".join(f"{'@next_k' if n == p.k else n} * ({by})" for n, by in steps)
    part = _part_bf16(kernel, p, operand, axis)
    place_of_part = part.rpartition("\n")[0]
    return f"""\
if (@{which}_whole && @next_k + @depth <= {text(p.k_end)}) {{
    const long long @moved = {moved};
    #pragma unroll
    for (int @n = 0; @n < @parts; ++@n) {{
{indented(place_of_part, 4)}
        __pipeline_memcpy_async(&{place}, @{which}_from[@n] + @moved, 16);
    }}
}} else {{
    #pragma unroll
    for (int @n = 0; @n < @parts; ++@n) {{
{indented(part, 4)}
        const long long {p.k} = @next_k + @step;
        const __nv_bfloat16* @from = @{which}_from[@n] + {moved};
        if ({slow} < {limit} && {fast} + 8 <= {bound} && reinterpret_cast<size_t>(@from) % 16 == 0) {{
            __pipeline_memcpy_async(&{place}, @from, 16);
            continue;
        }}
        if ({slow} >= {limit} || {fast} >= {bound}) {{
            *reinterpret_cast<uint4*>(&{place}) = make_uint4(0, 0, 0, 0);
            continue;
        }}
{indented(operand_lines(kernel, p, operand, axis), 4)}        for (int @i = 0; @i < 8; ++@i) {{
            (&{place})[@i] = {slow} < {limit} && {fast} + @i < {bound} ? {item} : __float2bfloat16(0.0f);
        }}
    }}
}}"""
