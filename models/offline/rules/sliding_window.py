"""Windows that slide along a row (convolutions): each warp keeps its piece of the row where it is cheap to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, indented, on_host, with_helper
from ..loops import for_parts
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Axis, Space, before_sum, index_space
from ..spelling import plain
from ..syntax import (
    Kernel,
    coefficient,
    declared_name,
    edited,
    shows,
    statements,
    substitute,
    summed_product,
    text,
    walk,
    without,
)
from ..values import declared, depends, loop_head
from .tile_product import TILES

WARPS = 4
CHUNK = 128
"""Taps whose weights a warp holds at a time: the latency of memory is paid once for each chunk."""


@dataclass(frozen=True)
class Window:
    """`total = Σ … Σ_k cells[… + col + k]·weights[… + k]`, then `after` with the total."""

    space: Space = field(repr=False)
    col: Axis
    row: Axis | None
    outer: tuple[Node, ...] = field(repr=False)
    k: str
    k_end: Node = field(repr=False)
    total: str
    cells: Node = field(repr=False)
    weights: Node = field(repr=False)
    before: tuple[Node, ...] = field(repr=False)
    """Declarations between the guards and the loops."""
    inner: tuple[Node, ...] = field(repr=False)
    """Declarations in the innermost loop."""
    after: tuple[Node, ...] = field(repr=False)


class SlidingWindow(KernelRule):
    """Neighbouring results read almost the same cells: hold them where they are cheap."""

    name: ClassVar[str] = "sliding_window"
    answers: ClassVar[tuple[str, ...]] = ("excess_traffic", "stall_mix", "narrow_loads", "low_occupancy")
    worth: ClassVar[float] = 12.0
    metric: ClassVar[str] = "global_load_requests"
    why: ClassVar[str] = (
        "each result reads its whole window from memory, and the windows of neighbours overlap in all but one cell: "
        "stage a piece of the row in shared memory and let it slide through registers, several results per thread"
    )
    effect: ClassVar[str] = "one load in many is left, the arithmetic units become the limit"
    steps: ClassVar[int] = 2

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Keep a window in registers and slide it."""
        source, window = kernel.source, find_window(kernel)
        if window is None:
            return None
        each = source.unique("per_thread")
        code = fresh(source, self._code(kernel, window).replace("@per_thread", each))
        tiles_of = helper_name(source, "tiles_of", TILES)
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {each}>\n"))
        # Blocks are few: registers for all the loads of a chunk are worth more than room for more blocks.
        at = kernel.declarator.start_byte
        edits.append((at, at, f"__launch_bounds__({32 * WARPS}, 4) "))
        edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
        for launch in kernel.launches:
            cols = on_host(kernel, launch, _seen_from_host(window, text(window.col.bound)))
            rows = on_host(kernel, launch, _seen_from_host(window, text(window.row.bound))) if window.row else "1"
            whole = text(launch.statement).rstrip("; ") == text(launch.node)
            if cols is None or rows is None or not whole:
                return None
            rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
            given = ", ".join(text(n) for n in launch.arguments)
            calls = []
            for count in (8, 4) if setting.narrow == 0 else (4,):
                if window.row is None:
                    grid = f"{tiles_of}({cols}, {32 * count * WARPS}, 2147483647)"
                else:
                    grid = f"dim3({tiles_of}({cols}, {32 * count}, 2147483647), {tiles_of}({rows}, {WARPS}, 65535))"
                calls.append(f"{{\n    {kernel.name}<{count}><<<{grid}, {32 * WARPS}{rest}>>>({given});\n}}")
            enough = f"if ((long long)({cols}) * ({rows}) >= {setting.multiprocessors}LL * {32 * 8 * 4 * WARPS}) "
            chain = calls[0] if len(calls) == 1 else f"{enough}{calls[0]} else {calls[1]}"
            edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chain, 4).lstrip()))
        return with_helper(edited(source.text, edits), tiles_of, TILES)

    def _code(self, kernel: Kernel, w: Window) -> str:
        col, bound, end = w.col.variable, text(w.col.bound), text(w.k_end)
        preamble = "\n".join(dedented(text(n)) for n in w.space.preamble)
        needed = set().union(*(depends(kernel, n) for n in w.after))
        before = "".join(f"{dedented(text(n))}\n" for n in w.before if declared(n) & needed)
        heads = "".join(f"{loop_head(n)} " for n in w.outer)
        for_cells, for_weights = (
            "".join(f"{dedented(text(n))}\n" for n in (*w.before, *w.inner) if declared(n) & depends(kernel, operand))
            for operand in (w.cells, w.weights)
        )
        finish = "\n".join(dedented(text(n)) for n in w.after)
        if w.row is None:
            first = f"(blockIdx.x * {WARPS}LL + @warp) * 32 * @per_thread"
            rows = "{"
        else:
            first = "blockIdx.x * 32LL * @per_thread"
            row = w.row.variable
            rows = (
                f"for (long long {row} = blockIdx.y * {WARPS}LL + @warp; {row} < {text(w.row.bound)}; "
                f"{row} += gridDim.y * {WARPS}LL) {{"
            )
        return f"""\
// A warp makes 32 * @per_thread neighbouring results; a thread's own lie side by side.
constexpr int @chunk = {CHUNK};
__shared__ alignas(16) float @cells[{WARPS}][32 * @per_thread + @chunk + 4];
__shared__ alignas(16) float @weights[{WARPS}][@chunk];
const int @lane = threadIdx.x % 32, @warp = threadIdx.x / 32;
{preamble}
const long long @first_col = {first};
if (@first_col >= {bound}) return;
{rows}
    float @sums[@per_thread] = {{}};
    {heads}for (long long @first_k = 0; @first_k < {end}; @first_k += @chunk) {{
        const int @taps = ({end}) - @first_k < @chunk ? (int)(({end}) - @first_k) : @chunk;
        // All loads of a chunk are on their way before the first one is waited for; beyond the end the last cell and
        // the last weight are read again, for results and taps that do not exist.
        const long long @last_cell = ({bound}) + ({end}) - 2 - @first_k;
        float @next_cells[@per_thread + @chunk / 32], @next_weights[@chunk / 32];
        #pragma unroll
        for (int @n = 0; @n < @per_thread + @chunk / 32; ++@n) {{
            const long long @cell = @first_col + @lane + @n * 32, {col} = @cell < @last_cell ? @cell : @last_cell;
            const long long {w.k} = @first_k;
{indented(for_cells, 12)}            @next_cells[@n] = {text(w.cells)};
        }}
        #pragma unroll
        for (int @n = 0; @n < @chunk / 32; ++@n) {{
            const long long {col} = @first_col;
            const long long {w.k} = @lane + @n * 32 < @taps ? @first_k + @lane + @n * 32 : ({end}) - 1LL;
{indented(for_weights, 12)}            @next_weights[@n] = {text(w.weights)};
        }}
        __syncwarp();
        #pragma unroll
        for (int @n = 0; @n < @per_thread + @chunk / 32; ++@n) @cells[@warp][@lane + @n * 32] = @next_cells[@n];
        #pragma unroll
        for (int @n = 0; @n < @chunk / 32; ++@n) @weights[@warp][@lane + @n * 32] = @next_weights[@n];
        __syncwarp();
        const float* @mine = @cells[@warp] + @lane * @per_thread;
        float @seen[@per_thread + 4];
        #pragma unroll
        for (int @r = 0; @r < @per_thread; ++@r) @seen[@r] = @mine[@r];
        int @tap = 0;
        #pragma unroll 4
        for (; @tap + 4 <= @taps; @tap += 4) {{
            const float4 @next = *reinterpret_cast<const float4*>(@mine + @tap + @per_thread);
            const float4 @four = *reinterpret_cast<const float4*>(@weights[@warp] + @tap);
            @seen[@per_thread] = @next.x;
            @seen[@per_thread + 1] = @next.y;
            @seen[@per_thread + 2] = @next.z;
            @seen[@per_thread + 3] = @next.w;
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @sums[@r] += @seen[@r] * @four.x;
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @sums[@r] += @seen[@r + 1] * @four.y;
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @sums[@r] += @seen[@r + 2] * @four.z;
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @sums[@r] += @seen[@r + 3] * @four.w;
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @seen[@r] = @seen[@r + 4];
        }}
        for (; @tap < @taps; ++@tap) {{
            #pragma unroll
            for (int @r = 0; @r < @per_thread; ++@r) @sums[@r] += @mine[@tap + @r] * @weights[@warp][@tap];
        }}
    }}
    #pragma unroll
    for (int @r = 0; @r < @per_thread; ++@r) {{
        const long long {col} = @first_col + @lane * @per_thread + @r;
        if ({col} < {bound}) {{
{indented(before, 12)}            float {w.total} = @sums[@r];
{indented(finish, 12)}
        }}
    }}
}}"""


def find_window(kernel: Kernel) -> Window | None:
    """Recognise a kernel whose threads each sum products of a window of cells and weights that all share."""
    space = index_space(kernel)
    if space is None or len(space.axes) > 2 or kernel.cooperates or not kernel.launches or kernel.template is not None:
        return None
    if not distinct_arguments(kernel) or "volatile" in text(kernel.body):
        return None
    col = next((a for a in space.axes if a.axis == "x"), None)
    row = next((a for a in space.axes if a.axis == "y"), None)
    first = next((n for n in space.body if n.type == "for_statement"), None)
    if col is None or first is None or len(space.axes) != 1 + (row is not None):
        return None
    nest = _nest(first)
    inner = list(statements(nest[-1].child_by_field_name("body"))) if nest else []
    counted = sum(n.type in ("for_statement", "while_statement") for s in space.body for n in walk(s))
    if not nest or counted != len(nest) or not inner or any(n.type != "declaration" for n in inner[:-1]):
        return None
    parts = for_parts(nest[-1])
    summed = summed_product(inner[-1])
    if parts is None or summed is None:
        return None
    k, k_end = parts[0], parts[4]
    total, *factors = summed
    before = before_sum(space, first, total)
    if before is None:
        return None
    operands = [_written_out(kernel, factor, inner[:-1]) for factor in factors]
    if any(o is None for o in operands):
        return None
    roles = [_role(kernel, o, k, col.variable, row.variable if row else "") for o in operands if o is not None]
    if sorted(roles) != ["cells", "weights"]:
        return None
    cells, weights = (operands[roles.index(r)] for r in ("cells", "weights"))
    after = space.body[space.body.index(first) + 1 :]
    if any(n.type in ("return_statement", "continue_statement", "break_statement") for s in after for n in walk(s)):
        return None
    outside = {p.name for p in kernel.parameters if not p.pointer} | {
        declared_name(c) for n in space.preamble for c in n.children_by_field_name("declarator")
    }
    bounds = [col.bound, *(for_parts(n)[4] for n in nest), *([row.bound] if row else [])]  # type: ignore[index]
    if any(text(n) not in outside for b in bounds for n in walk(b) if n.type == "identifier"):
        return None
    assert cells is not None
    assert weights is not None
    return Window(
        space, col, row, tuple(nest[:-1]), k, k_end, total, cells, weights, tuple(before), tuple(inner[:-1]), after
    )


def _nest(first: Node) -> list[Node]:
    """Return loops one inside the other, each from zero in steps of one; empty if one is of another kind."""
    found = []
    node: Node | None = first
    while node is not None:
        parts = for_parts(node)
        if parts is None or parts[3] != "<" or parts[5] != {(): 1} or text(parts[2]) != "0":
            return []
        found.append(node)
        inner = statements(node.child_by_field_name("body"))
        node = inner[0] if len(inner) == 1 and inner[0].type == "for_statement" else None
    return found


def _role(kernel: Kernel, operand: Node, k: str, col: str, row: str) -> str:
    """Return whether an operand is the cells of a window, or its weights; empty for anything else."""
    accesses = kernel.accesses_in(operand)
    if len(accesses) != 1 or accesses[0].root in kernel.written_roots:
        return ""
    called = {text(n.child_by_field_name("function")) for n in walk(operand) if n.type == "call_expression"}
    if not all(map(kernel.source.pure, called)):
        return ""
    index = kernel.accesses_in(operand, col)[0].index
    along, across = coefficient(index, k), coefficient(index, col)
    if along != {(): 1} or shows(without(index, k), k):
        return ""
    if not depends(kernel, operand) & {col, row}:
        return "weights"
    return "cells" if across == {(): 1} and not shows(without(index, col), col) else ""


def _written_out(kernel: Kernel, operand: Node | None, declared: list[Node]) -> Node | None:
    """Return an operand, or the value of the local that it names."""
    if operand is not None and operand.type == "identifier":
        for node in declared:
            for child in node.children_by_field_name("declarator"):
                if declared_name(child) == text(operand):
                    return child.child_by_field_name("value")
    return operand


def _seen_from_host(window: Window, expression: str) -> str:
    """Write out the constants that a kernel computes before its guards."""
    for node in reversed(window.space.preamble):
        for child in node.children_by_field_name("declarator"):
            expression = substitute(expression, {declared_name(child): f"({text(child.child_by_field_name('value'))})"})
    return expression
