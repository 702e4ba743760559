"""A running sum, maximum or minimum in linear work, where every thread went over all that came before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, indented, on_host, with_helper
from ..inline import inlined
from ..loops import ParallelLoop, effects_known, for_parts, parallel_loops
from ..macros import expanded
from ..rule import KernelRule, Setting, distinct_arguments
from ..syntax import (
    Kernel,
    Launch,
    Source,
    assigned_names,
    declared_name,
    edited,
    squeezed,
    statements,
    substitute,
    text,
    walk,
)
from ..workspace import free_workspace
from .row_cooperative import combines

ITEMS = 16
THREADS = 256
TILE = ITEMS * THREADS

SCAN = """\
// Combine `value` with those of all earlier threads of the block; `whole` gets the block's total.
static __device__ __forceinline__ float {{name}}(float value, float& whole) {{{{
    __shared__ float of_warp[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {{{{
        const float other = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value = {joined};
    }}}}
    if (lane == 31) of_warp[warp] = value;
    __syncthreads();
    float before = {neutral};
    whole = {neutral};
    for (int w = 0; w < blockDim.x / 32; ++w) {{{{
        if (w == warp) before = whole;
        whole = {total};
    }}}}
    __syncthreads();
    return {result};
}}}}
"""

OPERATIONS = {
    "sum": ("scan_sum", "0.0f", "{a} + {b}"),
    "max": ("scan_max", "-INFINITY", "fmaxf({a}, {b})"),
    "min": ("scan_min", "INFINITY", "fminf({a}, {b})"),
}


@dataclass(frozen=True)
class Scan:
    """A running combination along rows of `length` elements (one row: the whole array)."""

    name: str
    operation: str
    element: str
    """The element at `@p` of its row."""
    length: str
    before: tuple[Node, ...] = field(repr=False)
    after: tuple[Node, ...] = field(repr=False)


class BlockScan(KernelRule):
    """Each result repeats the work of the one before: scan tiles in blocks, carry the totals."""

    name: ClassVar[str] = "block_scan"
    answers: ClassVar[tuple[str, ...]] = ("wasteful_algorithm", "excess_traffic", "divergent_threads", "stall_mix")
    worth: ClassVar[float] = 50.0
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "every thread goes again over all elements before its own, quadratic work in all: reduce each tile to one "
        "number, then scan each tile with warp shuffles, starting from the tiles before it"
    )
    effect: ClassVar[str] = "linear work: each element is read twice and written once"

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return inlined(expanded(code))

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Scan tiles, then their totals, then add these to the tiles."""
        source = kernel.source
        loop = next((item for item in parallel_loops(kernel) if item.top and item.form == "guard"), None)
        if loop is None or kernel.cooperates or len(kernel.launches) != 1 or not distinct_arguments(kernel):
            return None
        if not effects_known(loop) or "volatile" in text(kernel.node):
            return None
        scan = self._scan(kernel, loop)
        launch = kernel.launches[0]
        if scan is None or launch.host is None or launch.statement.type != "expression_statement":
            return None
        name, operation, element, after = scan.name, scan.operation, scan.element, scan.after
        workspace = _workspace(source, kernel, launch, loop, scan)
        if workspace is None:
            return None
        buffer, workspace_edit = workspace
        helper, neutral, joined = OPERATIONS[operation]
        code = SCAN.format(
            joined=joined.format(a="other", b="value"),
            total=joined.format(a="whole", b="of_warp[w]"),
            result=joined.format(a="before", b="value"),
            neutral=neutral,
        )
        scan_name = helper_name(source, helper, code)
        bound, length = text(loop.bound), scan.length
        listed = ", ".join(" ".join(text(p.node).split()) for p in kernel.parameters)

        def join(a: str, b: str) -> str:
            return joined.format(a=a, b=b)

        finish = "\n".join(dedented(text(n)) for n in after)
        tile_total, tile_scan = source.unique("tile_total"), source.unique("tile_scan")
        rows = "1" if length == bound else f"({bound}) / ({length})"
        head = "".join(f"        {dedented(text(n))}\n" for n in scan.before)
        here = f"        const long long {loop.variable} = @row * (long long)({length});\n" if scan.before else ""
        kernels = f"""\
// One number for each tile of {TILE} elements of a row.
__global__ void {tile_total}({listed}, float* @totals) {{
    for (long long @row = blockIdx.y; @row < {rows}; @row += gridDim.y) {{
{here}{head}        float @value = {neutral}, @whole;
        for (int @item = 0; @item < {ITEMS}; ++@item) {{
            const long long @place = blockIdx.x * {TILE}LL + @item * {THREADS} + threadIdx.x;
            if (@place < {length}) @value = {join("@value", element.replace("@p", "@place"))};
        }}
        {scan_name}(@value, @whole);
        if (threadIdx.x == 0) @totals[@row * gridDim.x + blockIdx.x] = @whole;
    }}
}}

// Every tile from the totals of the tiles before it in its row.
__global__ void {tile_scan}({listed}, const float* @totals) {{
    __shared__ float @tile_values[{TILE} + {TILE} / 32];
    __shared__ float @ends[{THREADS} / 32];
    for (long long @row = blockIdx.y; @row < {rows}; @row += gridDim.y) {{
{here}{head}        float @carry = {neutral}, @whole;
        for (unsigned @tile = threadIdx.x; @tile < blockIdx.x; @tile += {THREADS}) {{
            @carry = {join("@carry", "@totals[@row * gridDim.x + @tile]")};
        }}
        {scan_name}(@carry, @carry);
        const long long @first = blockIdx.x * {TILE}LL;
        for (int @item = 0; @item < {ITEMS}; ++@item) {{
            const int @local = @item * {THREADS} + threadIdx.x;
            const long long @place = @first + @local;
            @tile_values[@local + @local / 32] = @place < {length} ? {element.replace("@p", "@place")} : {neutral};
        }}
        __syncthreads();
        float @values[{ITEMS}], @value = {neutral};
        #pragma unroll
        for (int @item = 0; @item < {ITEMS}; ++@item) {{
            const int @local = threadIdx.x * {ITEMS} + @item;
            @value = {join("@value", "@tile_values[@local + @local / 32]")};
            @values[@item] = @value;
        }}
        const float @own = @value;
        const float @upto = {scan_name}(@own, @whole);
        float @before = __shfl_up_sync(0xffffffffu, @upto, 1);
        if (threadIdx.x % 32 == 31) @ends[threadIdx.x / 32] = @upto;
        __syncthreads();
        if (threadIdx.x % 32 == 0) @before = threadIdx.x == 0 ? {neutral} : @ends[threadIdx.x / 32 - 1];
        @before = {join("@carry", "@before")};
        #pragma unroll
        for (int @item = 0; @item < {ITEMS}; ++@item) {{
            const int @local = threadIdx.x * {ITEMS} + @item;
            @tile_values[@local + @local / 32] = {join("@before", "@values[@item]")};
        }}
        __syncthreads();
        for (int @item = 0; @item < {ITEMS}; ++@item) {{
            const int @local = @item * {THREADS} + threadIdx.x;
            if (@first + @local < {length}) {{
                const long long {loop.variable} = @row * (long long)({length}) + @first + @local;
                const float {name} = @tile_values[@local + @local / 32];
{indented(finish, 16)}
            }}
        }}
        __syncthreads();
    }}
}}"""
        given = ", ".join(text(n) for n in launch.arguments)
        stream = launch.stream
        host_length, host_bound = on_host(kernel, launch, length), on_host(kernel, launch, bound)
        if host_length is None or host_bound is None:
            return None
        host_rows = "1" if length == bound else f"({host_length}) > 0 ? ({host_bound}) / ({host_length}) : 0"
        calls = (
            f"float* @tile_totals = static_cast<float*>({buffer});\n"
            f"const long long @rows = {host_rows};\n"
            f"const long long @tiles = ((long long)({host_length}) + {TILE - 1}) / {TILE};\n"
            f"const unsigned @high = @rows < 1 ? 1 : @rows < 65535 ? (unsigned)@rows : 65535;\n"
            f"const dim3 @scan_grid(@tiles < 1 ? 1 : (unsigned)@tiles, @high);\n"
            f"if (@tiles > 1) {{\n"
            f"    {tile_total}<<<@scan_grid, {THREADS}, 0, {stream}>>>({given}, @tile_totals);\n"
            f"}}\n"
            f"{tile_scan}<<<@scan_grid, {THREADS}, 0, {stream}>>>({given}, @tile_totals);"
        )
        edits = [
            (kernel.outer.start_byte, kernel.outer.end_byte, fresh(source, kernels)),
            (launch.statement.start_byte, launch.statement.end_byte, indented(fresh(source, calls), 4).lstrip()),
            workspace_edit,
        ]
        result = with_helper(edited(source.text, edits), scan_name, code)
        return result if "<math.h>" in result or "<cmath>" in result else _with_math(result)

    @staticmethod
    def _scan(kernel: Kernel, loop: ParallelLoop) -> Scan | None:
        """Read the body as `value = neutral; for all places up to this one: value = op(value, element); after`."""
        loops = [n for n in loop.body if n.type == "for_statement"]
        if len(loops) != 1 or (kernel.template is not None and "typename" in text(kernel.template)):
            return None
        inner = loops[0]
        parts = for_parts(inner)
        position = loop.body.index(inner)
        before = list(loop.body[:position])
        if parts is None or parts[3] != "<=" or parts[5] != {(): 1} or any(n.type != "declaration" for n in before):
            return None
        length = text(loop.bound)
        if text(parts[4]) != loop.variable:
            segment = re.fullmatch(rf"\(?{re.escape(loop.variable)}%(\w+)\)?", squeezed(parts[4]))
            if segment is None:
                return None
            length = segment[1]
            if not any(key.count(length) == 1 for key in kernel.poly(loop.bound)):
                return None
        body = statements(inner.child_by_field_name("body"))
        whole = inner.child_by_field_name("body")
        assignment = body[0].named_children[0] if len(body) == 1 and body[0].type == "expression_statement" else None
        if whole is None or assignment is None or assignment.type != "assignment_expression":
            return None
        name = text(assignment.child_by_field_name("left"))
        start = next((n for n in before if declared_name(n.children_by_field_name("declarator")[0]) == name), None)
        operation = combines(whole, name) if kernel.declared.get(name) == "float" else None
        value = assignment.child_by_field_name("right")
        sign = text(assignment.child_by_field_name("operator"))
        if operation is None or start is None or sign == "-=" or value is None:
            return None
        before.remove(start)
        if sign == "=":
            listed = value.child_by_field_name("arguments")
            others = [n for n in (listed.named_children if listed is not None else []) if text(n) != name]
            if len(others) != 1:
                return None
            value = others[0]
        element = substitute(text(value), {parts[0]: "@p"})
        if loop.variable in {text(n) for n in walk(value) if n.type == "identifier"}:
            return None
        if {a.root for a in kernel.accesses_in(value)} & kernel.written_roots:
            return None
        # What stands before may depend on the row alone, through `index / length`.
        for node in before:
            declarator = node.children_by_field_name("declarator")[0]
            code = squeezed(declarator.child_by_field_name("value"))
            rest = re.sub(rf"\b{re.escape(loop.variable)}/{re.escape(length)}\b", "", code)
            if length == text(loop.bound) or re.search(rf"\b{re.escape(loop.variable)}\b", rest):
                return None
        begin, first = (
            text(start.children_by_field_name("declarator")[0].child_by_field_name("value")),
            kernel.poly(parts[2]),
        )
        from_first = first == {(): 1} and begin.replace(" ", "") == element.replace("@p", "0").replace(" ", "")
        from_zero = not first and operation == "sum" and re.fullmatch(r"0*\.?0*f?", begin) is not None
        if not from_first and not from_zero:
            return None
        return Scan(name, operation, element, length, tuple(before), loop.body[position + 1 :])


def _with_math(source: str) -> str:
    at = source.find("#include")
    return source[:at] + "#include <math.h>\n" + source[at:] if at >= 0 else "#include <math.h>\n" + source


def _workspace(
    source: Source, kernel: Kernel, launch: Launch, loop: ParallelLoop, scan: Scan
) -> tuple[str, tuple[int, int, str]] | None:
    """Return the workspace's name, and the edit that asks for room for the tiles' totals.

    Only where the workspace is not in use yet.
    """
    count, length = on_host(kernel, launch, text(loop.bound)), on_host(kernel, launch, scan.length)
    host = launch.host
    if count is None or length is None or host is None:
        return None
    workspace = free_workspace(source, launch)
    if workspace is None:
        return None
    count = _spelled(count, host)
    own_names = set(re.findall(r"[A-Za-z_]\w*", f"{count} {length}")) - {"long", "int", "size_t", "unsigned"}
    if not own_names <= workspace.known:
        return None
    rows = "1" if scan.length == text(loop.bound) else f"(({length}) > 0 ? ({count}) / ({length}) : 0)"
    room = f"return ((size_t)({length}) / {TILE} + 1) * {rows} * sizeof(float);"
    return workspace.name, (workspace.size.start_byte, workspace.size.end_byte, room)


def _spelled(expression: str, host: Node) -> str:
    """Write out constant local variables of a host function."""
    changed = assigned_names(host)
    values = {}
    for node in walk(host):
        if node.type == "init_declarator" and declared_name(node) not in changed:
            values[declared_name(node)] = f"({text(node.child_by_field_name('value'))})"
    return substitute(expression, values)
