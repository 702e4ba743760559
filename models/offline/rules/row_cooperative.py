"""Rows (or any independent items) whose serial loops are shared by the threads of a block or a warp."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import configuration_edits, dedented, fresh, helper_name, indented, on_host, with_helper
from ..inline import inlined
from ..loops import ParallelLoop, effects_known, for_parts, parallel_loops
from ..macros import expanded
from ..rule import KernelRule, Setting, distinct_arguments
from ..syntax import (
    Access,
    Kernel,
    Poly,
    Source,
    assigned_names,
    coefficient,
    declared_name,
    edited,
    how_used,
    id_of,
    shows,
    squeezed,
    statements,
    substitute,
    text,
    walk,
    within,
    without,
)
from ..tuning import tunable

_OTHER_AXES = ("threadIdx.y", "threadIdx.z", "blockIdx.y", "blockIdx.z", "gridDim.y", "gridDim.z")

ROW_THREADS = """\
// Threads for one of `rows` rows of `length` elements: whole warps, `each` elements to a thread. No more than the row's
// share of a device of `most` threads, but four warps if it is long enough.
static int {name}(long long rows, long long length, int each, int most) {{
    const long long threads = (length + 32 * each - 1) / (32 * each) * 32;
    const long long share = most / (rows < 1 ? 1 : rows) / 32 * 32;
    const long long limit = share < 128 ? 128 : share > 1024 ? 1024 : share;
    return (int)(threads < 32 ? 32 : threads > limit ? limit : threads);
}}
"""

ROWS_BLOCKS = """\
// Blocks for `rows` rows, `each` to a block; at least one.
static unsigned {name}(long long rows, int each) {{
    const long long blocks = (rows + each - 1) / each;
    return (unsigned)(blocks < 1 ? 1 : blocks);
}}
"""

ROW_SUM = """\
// Sum over the threads along x, for all of them. They are whole warps.
static __device__ __forceinline__ float {name}(float value) {{
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    __syncwarp();
    if (blockDim.x == 32) return value;
    __shared__ float of_warp[32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : 0.0f;
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}}
"""

ROW_EXTREME = """\
// {title} over the threads along x, for all of them. They are whole warps.
static __device__ __forceinline__ float {{name}}(float value) {{{{
    for (int step = 16; step > 0; step /= 2) value = {op}(value, __shfl_xor_sync(0xffffffffu, value, step));
    __syncwarp();
    if (blockDim.x == 32) return value;
    __shared__ float of_warp[32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[threadIdx.x % 32 < blockDim.x / 32 ? threadIdx.x % 32 : 0];
    for (int step = 16; step > 0; step /= 2) value = {op}(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}}}}
"""

COLUMN = """\
// {title} over the threads along y, for all of them. A warp has four of them for each of eight columns.
static __device__ __forceinline__ float {{name}}(float value) {{{{
    __shared__ float of_warp[32][8];
    for (int step = 8; step < 32; step *= 2) {{{{
        const float other = __shfl_xor_sync(0xffffffffu, value, step);
        value = {joined};
    }}}}
    __syncthreads();
    if (threadIdx.y % 4 == 0) of_warp[threadIdx.y / 4][threadIdx.x] = value;
    __syncthreads();
    value = of_warp[0][threadIdx.x];
    for (int warp = 1; warp < blockDim.y / 4; ++warp) {{{{
        const float other = of_warp[warp][threadIdx.x];
        value = {joined};
    }}}}
    return value;
}}}}
"""

COLUMN_HELPERS = {
    "sum": ("column_sum", COLUMN.format(title="Sum", joined="value + other")),
    "max": ("column_max", COLUMN.format(title="Maximum", joined="fmaxf(value, other)")),
    "min": ("column_min", COLUMN.format(title="Minimum", joined="fminf(value, other)")),
}

_DEAR = ("sqrtf", "rsqrtf", "expf", "logf", "powf")

ROWS_AHEAD = 8
"""Rows of a column that a thread has loads under way for."""

HELPERS = {
    "sum": ("row_sum", ROW_SUM),
    "max": ("row_max", ROW_EXTREME.format(title="Maximum", op="fmaxf")),
    "min": ("row_min", ROW_EXTREME.format(title="Minimum", op="fminf")),
}


@dataclass(frozen=True)
class Shared:
    """One serial loop of a row, to be shared: its accumulators and how they combine."""

    node: Node = field(repr=False)
    variable: str
    start: Node = field(repr=False)
    bound: Node = field(repr=False)
    accumulators: dict[str, str]


class RowCooperative(KernelRule):
    """One thread walks along a whole row: let a warp or a block walk side by side and combine with shuffles."""

    name: ClassVar[str] = "warp_per_item"
    answers: ClassVar[tuple[str, ...]] = (
        "uncoalesced_access", "too_few_blocks", "low_occupancy", "divergent_threads", "redundant_threads", "stall_mix",
    )  # fmt: skip
    worth: ClassVar[float] = 25.0
    metric: ClassVar[str] = "global_load_sectors"
    why: ClassVar[str] = (
        "each thread walks along a row of its own, so the threads of a warp touch addresses a row apart and there are "
        "only as many threads as rows: give every row a warp or a block whose threads take neighbouring elements, and "
        "combine sums and maxima with shuffles"
    )
    effect: ClassVar[str] = "coalesced loads and enough threads to fill the device"
    steps: ClassVar[int] = 2

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers; write plainly what is volatile."""
        return _unvolatile(inlined(expanded(code)))

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Share each item between the threads of a warp or block."""
        source = kernel.source
        loop = next((item for item in parallel_loops(kernel) if item.top), None)
        if loop is None or not kernel.launches or kernel.meets or not distinct_arguments(kernel):
            return None
        if loop.form == "block" and kernel.uses("blockIdx", "gridDim"):
            return None
        if loop.carried or kernel.uses(*_OTHER_AXES) or not effects_known(loop, adding=True):
            return None
        if any(
            n.start_byte > loop.node.start_byte and not any(within(n, b) for b in loop.body)
            for n in kernel.statements
            if n.id != loop.node.id
        ):
            return None
        shared = [s for n in loop.body if n.type == "for_statement" for s in [self._shared(kernel, loop, n)]]
        if not shared or any(s is None for s in shared):
            return None
        loops = [s for s in shared if s is not None]
        if any(not any(within(n, s.node) for s in loops) for n in walk(kernel.body) if _adds(n)):
            return None
        columns = loop.form == "guard" and self._columns(kernel, loop, loops)
        if not columns and not (self._coalesces(kernel, loops) and self._own_places(kernel, loop, loops)):
            return None
        lengths = [on_host(kernel, la, text(s.bound)) for la in kernel.launches for s in loops]
        wide = all(length is not None for length in lengths) and setting.narrow == 0 and not columns
        body = self._body(source, kernel, loop, loops, columns)
        if body is None:
            return None
        code, used = body
        name, bound = loop.variable, text(loop.bound)
        if columns:
            whole = f"const long long {name} = blockIdx.x * 8LL + threadIdx.x;\nif ({name} >= {bound}) return;\n{code}"
        else:
            first, step = "blockIdx.x", "gridDim.x"
            if not wide:
                first = "blockIdx.x * (long long)blockDim.y + threadIdx.y"
                step = "(long long)gridDim.x * blockDim.y"
            head = f"for (long long {name} = {first}; {name} < {bound}; {name} += {step}) {{"
            whole = f"{head}\n{indented(code, 4)}\n}}"
        start, end = loop.node.start_byte, loop.node.end_byte
        if loop.form == "guard":
            assert loop.declaration is not None
            start, end = loop.declaration.start_byte, max(end, loop.body[-1].end_byte)
            between = [n for n in kernel.statements if start < n.start_byte < loop.node.start_byte]
            if any(loop.variable in text(n) for n in between):
                return None
            whole = "".join(f"{text(n)}\n" for n in between) + whole
        edits = [(start, end, indented(whole, 4).lstrip())]
        rows_blocks, row_threads = (
            helper_name(source, "blocks_of", ROWS_BLOCKS),
            helper_name(source, "row_threads", ROW_THREADS),
        )
        each, each_line = tunable(source, "elements_of_thread", (4, 8, 2, 16))
        for launch in kernel.launches:
            rows = on_host(kernel, launch, text(loop.bound))
            if rows is None:
                return None
            if wide:
                length = on_host(kernel, launch, text(loops[0].bound))
                edits += configuration_edits(
                    launch,
                    grid=f"{rows_blocks}({rows}, 1)",
                    block=f"{row_threads}({rows}, {length}, {each}, {setting.multiprocessors} * 2048)",
                )
            elif columns:
                edits += configuration_edits(launch, grid=f"{rows_blocks}({rows}, 8)", block="dim3(8, 64)")
            else:
                edits += configuration_edits(launch, grid=f"{rows_blocks}({rows}, 8)", block="dim3(32, 8)")
        for node in kernel.node.children:
            if node.type == "launch_bounds":
                edits.append((node.start_byte, node.end_byte, ""))
        result = with_helper(edited(source.text, edits), rows_blocks, ROWS_BLOCKS)
        if wide:
            result = with_helper(with_helper(result, each, each_line), row_threads, ROW_THREADS)
        for operation in sorted(used):
            name, helper = (COLUMN_HELPERS if columns else HELPERS)[operation]
            result = with_helper(result, helper_name(source, name, helper), helper)
        return result

    def _shared(self, kernel: Kernel, loop: ParallelLoop, node: Node) -> Shared | None:
        """Read a loop of the row's body: None if its turns depend on one another in a way not known."""
        parts = for_parts(node)
        if parts is None or parts[3] != "<" or parts[5] != {(): 1}:
            return None
        name, _, start, _, bound, _ = parts
        inside = statements(node.child_by_field_name("body"))
        if any(n.type in ("break_statement", "return_statement", "goto_statement") for s in inside for n in walk(s)):
            return None
        declared = {
            declared_name(c)
            for s in inside
            for n in walk(s)
            if n.type == "declaration"
            for c in n.children_by_field_name("declarator")
        }
        accumulators: dict[str, str] = {}
        body = node.child_by_field_name("body")
        assert body is not None
        for target in assigned_names(body) - declared - {name}:
            operation = combines(body, target)
            if operation is None or kernel.declared.get(target) != "float":
                return None
            accumulators[target] = operation
        if name in assigned_names(body):
            return None
        return Shared(node, name, start, bound, accumulators)

    def _coalesces(self, kernel: Kernel, loops: list[Shared]) -> bool:
        """Return whether neighbouring elements of a row are neighbours in memory, and rows are not."""
        along = 0
        for item in loops:
            for access in kernel.accesses_in(item.node):
                factor = coefficient(access.index, item.variable)
                if factor == {(): 1}:
                    along += 1
                elif (factor and access.written) or factor:
                    return False
        return along > 0

    def _columns(self, kernel: Kernel, loop: ParallelLoop, loops: list[Shared]) -> bool:
        """Return whether the items are columns: neighbours in memory, each one's elements a row's length apart."""
        width = kernel.poly(loop.bound)
        down = 0
        places: dict[str, set[str]] = {}
        for root, index, node, _, read in loop.accesses():
            item = next((s for s in loops if within(node, s.node)), None)
            factor = coefficient(index, item.variable) if item is not None else {}
            if item is None:
                if root in kernel.written_roots and (read or index != {(loop.variable,): 1}):
                    return False
                places.setdefault(root, set()).add("once")
                continue
            if factor:
                if factor != width or without(index, item.variable) != {(loop.variable,): 1}:
                    return False
                down += 1
            if root in kernel.written_roots:
                if not factor or text(item.start) != "0":
                    return False
                places.setdefault(root, set()).add("element")
        known = kernel.written_roots <= set(places)
        return down > 0 and known and all(len(places[r]) == 1 for r in kernel.written_roots)

    def _own_places(self, kernel: Kernel, loop: ParallelLoop, loops: list[Shared]) -> bool:
        """Return whether what is written in a shared loop is read again only by the thread that wrote it."""
        places: dict[str, set[tuple[str, ...]]] = {}
        for access in kernel.accesses:
            if access.root not in kernel.written_roots or _added_to(access.node):
                continue
            item = next((s for s in loops if within(access.node, s.node)), None)
            if item is None:
                if access.read and not access.written and self._read_first(kernel, access, loops):
                    continue
                if access.read or not any(within(access.node, b) for b in loop.body):
                    return False
                places.setdefault(access.root, set()).add(("once",))
                continue
            renamed: Poly = {tuple("$" if a == item.variable else a for a in key): v for key, v in access.index.items()}
            if renamed.get(("$",)) != 1 or any(shows(access.index, n) for n in item.accumulators):
                return False
            row = {key: v for key, v in renamed.items() if key != ("$",)}
            if not any(shows({k: v}, atom) for k, v in row.items() for atom in _atoms(kernel, loop)):
                return False
            before = [n for n in loop.body if n.end_byte <= item.node.start_byte]
            start = {} if _starts_at_first(kernel, item, before) else kernel.poly(item.start)
            places.setdefault(access.root, set()).add((str(sorted(renamed.items())), str(start)))
        added = {a.root for a in kernel.accesses if _added_to(a.node)}
        if added & set(places):
            return False
        return kernel.written_roots <= set(places) | added and all(len(p) == 1 for p in places.values())

    @staticmethod
    def _read_first(kernel: Kernel, access: Access, loops: list[Shared]) -> bool:
        """Return whether a read by all threads comes before all writes of its array, with a combination in between."""
        writes = [a.node.start_byte for a in kernel.accesses if a.root == access.root and a.written]
        combined = [s.node.end_byte for s in loops if s.accumulators and s.node.start_byte >= access.node.end_byte]
        return bool(combined) and min(combined) <= min(writes)

    def _body(
        self, source: Source, kernel: Kernel, loop: ParallelLoop, loops: list[Shared], columns: bool
    ) -> tuple[str, set[str]] | None:
        lane, lanes = ("threadIdx.y", "blockDim.y") if columns else ("threadIdx.x", "blockDim.x")
        helpers = COLUMN_HELPERS if columns else HELPERS
        lines: list[str] = []
        used: set[str] = set()
        by_place = {id_of(s.node): s for s in loops}
        first_lane = f"if ({lane} == 0) "
        position = 0
        listed = list(loop.body)
        for position, node in enumerate(listed):
            item = by_place.get(id_of(node))
            if item is not None:
                start = text(item.start)
                skipped = _starts_at_first(kernel, item, listed[:position])
                begin = lane if start == "0" or skipped else f"{start} + {lane}"
                update = node.child_by_field_name("update")
                initializer = node.child_by_field_name("initializer")
                body = node.child_by_field_name("body")
                assert update is not None
                assert initializer is not None
                assert body is not None
                for name, operation in item.accumulators.items():
                    if operation == "sum" and not _zero_just_before(name, listed[:position]):
                        lines.append(f"if ({lane} != 0) {name} = 0.0f;")
                turn = item.variable
                kind = "int" if text(initializer).startswith("int ") else "long long"
                ahead = self._ahead(kernel, item, begin) if columns else None
                head = f"for ({kind} {turn} = {begin}; {turn} < {text(item.bound)}; {turn} += {lanes}) "
                lines.append(ahead or head + dedented(text(body)))
                for name, operation in item.accumulators.items():
                    helper = helper_name(source, *helpers[operation])
                    lines.append(f"{name} = {helper}({name});")
                    used.add(operation)
            elif node.type == "declaration":
                lines.append(dedented(text(node)))
            elif node.type == "expression_statement":
                writes = any(a.written and within(a.node, node) for a in kernel.accesses)
                lines.append(first_lane + dedented(text(node)) if writes else dedented(text(node)))
            elif node.type == "if_statement" and not any(a.written and within(a.node, node) for a in kernel.accesses):
                if any(n.type in ("continue_statement", "return_statement") for n in walk(node)):
                    return None
                lines.append(dedented(text(node)))
            else:
                return None
        return fresh(source, "\n".join(lines)), used

    @staticmethod
    def _ahead(kernel: Kernel, item: Shared, begin: str) -> str | None:
        """Write a loop down a column that loads for several rows before it uses the first."""
        inside = statements(item.node.child_by_field_name("body"))
        loads = [a for s in inside for a in kernel.accesses_in(s) if a.root not in kernel.written_roots]
        plain = all(n.type in ("declaration", "expression_statement") for n in inside)
        branching = any(n.type == "conditional_expression" or text(n) in ("&&", "||") for s in inside for n in walk(s))
        own = {
            declared_name(c) for n in inside if n.type == "declaration" for c in n.children_by_field_name("declarator")
        }
        places = {squeezed(a.node): a for a in loads}
        types = {code: p.type for code, a in places.items() if (p := kernel.parameter(a.root)) is not None}
        moving = [code for code, a in places.items() if shows(a.index, item.variable)]
        if not moving or not plain or branching or len(types) != len(places):
            return None
        row, bound = item.variable, text(item.bound)
        # A place that is computed in the loop is written out as what it is.
        names = {text(n) for a in loads for n in walk(a.node) if n.type == "identifier"}
        known = {n: f"({text(kernel.locals[n])})" for n in names & own if n in kernel.locals}
        if names & own - set(known):
            return None
        head = f"const long long {row} = @first + @turn * (long long)blockDim.y;\nif ({row} < {bound}) {{"
        numbers = {code: number for number, code in enumerate(places)}
        arrays = {code: f"@ahead_{n}" + ("[@turn]" if code in moving else "") for code, n in numbers.items()}
        written = {code: substitute(text(a.node), known) for code, a in places.items()}
        declared = "\n".join(
            f"{types[code]} @ahead_{n}[{ROWS_AHEAD}] = {{}};"
            if code in moving
            else f"const {types[code]} @ahead_{n} = {written[code]};"
            for code, n in numbers.items()
        )
        first = "\n".join(f"{arrays[code]} = {written[code]};" for code in moving)
        changing = own | assigned_names(item.node) | {row}

        def loaded(node: Node) -> list[tuple[int, int, str]]:
            return [(*id_of(a.node), arrays[squeezed(a.node)]) for a in loads if within(a.node, node)]

        def rewritten(node: Node, edits: list[tuple[int, int, str]]) -> str:
            return edited(text(node), [(a - node.start_byte, b - node.start_byte, new) for a, b, new in edits])

        then = []
        for node in inside:
            edits = loaded(node)
            # What is the same for all rows is computed once.
            for call in walk(node):
                name = text(call.child_by_field_name("function")) if call.type == "call_expression" else ""
                named = {text(n) for n in walk(call) if n.type == "identifier"}
                if name not in _DEAR or named & changing or any(code in squeezed(call) for code in moving):
                    continue
                same = f"@same_{call.start_byte}"
                declared += f"\nconst float {same} = {rewritten(call, loaded(call))};"
                edits = [e for e in edits if not (call.start_byte <= e[0] and e[1] <= call.end_byte)]
                edits.append((*id_of(call), same))
                break
            then.append(dedented(rewritten(node, edits)))

        def turns(code: str) -> str:
            each = f"{head}\n{indented(code, 4)}\n}}"
            return f"#pragma unroll\nfor (int @turn = 0; @turn < {ROWS_AHEAD}; ++@turn) {{\n{indented(each, 4)}\n}}"

        whole = f"{declared}\n{turns(first)}\n{turns(chr(10).join(then))}"
        return f"""\
#pragma unroll 1
for (long long @first = {begin}; @first < {bound}; @first += {ROWS_AHEAD} * (long long)blockDim.y) {{
{indented(whole, 4)}
}}"""


def _adds(node: Node) -> bool:
    """Return whether a node is a call of atomicAdd."""
    return node.type == "call_expression" and text(node.child_by_field_name("function")) == "atomicAdd"


def _added_to(node: Node) -> bool:
    """Return whether an access is only the target of an atomicAdd."""
    up = node.parent
    while up is not None and up.type in ("pointer_expression", "parenthesized_expression", "argument_list"):
        up = up.parent
    return up is not None and _adds(up) and how_used(node) == (True, True)


def _atoms(kernel: Kernel, loop: ParallelLoop) -> set[str]:
    """Return the atoms that a row's index shows up as."""
    return {loop.variable, "blockIdx.x"}


def combines(body: Node, name: str) -> str | None:
    """Return how a variable gathers a loop's turns: `sum`, `max` or `min`; None for anything else."""
    operations: set[str] = set()
    counted = 0
    for node in walk(body):
        if node.type == "assignment_expression" and text(node.child_by_field_name("left")) == name:
            right, sign = node.child_by_field_name("right"), text(node.child_by_field_name("operator"))
            inside = [n for n in walk(right) if n.type == "identifier" and text(n) == name] if right is not None else []
            if sign in ("+=", "-=") and not inside:
                operations.add("sum")
                counted += 1
                continue
            called = re.match(r"(?:std::)?(fmaxf|fmax|max|fminf|fmin|min)\(", squeezed(right))
            argument = inside[0].parent if len(inside) == 1 else None
            if sign == "=" and called and argument is not None and argument.type == "argument_list":
                operations.add("max" if "max" in called[1] else "min")
                counted += 2
                continue
            guard = node.parent.parent if node.parent is not None else None
            if sign == "=" and not inside and guard is not None:
                while guard is not None and guard.type == "compound_statement":
                    guard = guard.parent
                test = (
                    squeezed(guard.child_by_field_name("condition"))
                    if guard is not None and guard.type == "if_statement"
                    else ""
                )
                value = squeezed(right)
                if test in (f"({value}>{name})", f"({name}<{value})"):
                    operations.add("max")
                    counted += 2
                    continue
                if test in (f"({value}<{name})", f"({name}>{value})"):
                    operations.add("min")
                    counted += 2
                    continue
            return None
        if node.type == "update_expression" and name in text(node):
            return None
    seen = sum(1 for n in walk(body) if n.type == "identifier" and text(n) == name)
    return operations.pop() if len(operations) == 1 and seen == counted else None


def _zero_just_before(name: str, before: list[Node]) -> bool:
    """Return whether an accumulator is still the zero that it was declared with."""
    for node in reversed(before):
        if node.type == "declaration":
            for child in node.children_by_field_name("declarator"):
                if declared_name(child) == name:
                    return re.fullmatch(r"0*\.?0*f?", text(child.child_by_field_name("value"))) is not None
        if name in assigned_names(node):
            return False
    return False


def _starts_at_first(kernel: Kernel, item: Shared, before: list[Node]) -> bool:
    """Return whether a loop from 1 over a maximum or minimum may start at 0: it began with element 0."""
    if (
        text(item.start) != "1"
        or not item.accumulators
        or "sum" in item.accumulators.values()
        or len(item.accumulators) != 1
    ):
        return False
    name = next(iter(item.accumulators))
    body = text(item.node.child_by_field_name("body"))
    for node in before:
        if node.type == "declaration":
            for child in node.children_by_field_name("declarator"):
                value = text(child.child_by_field_name("value"))
                if declared_name(child) == name and value:
                    turned = substitute(body, {item.variable: "0"})
                    return value.replace(" ", "") in turned.replace(" ", "")
    return False


def _unvolatile(source: str) -> str:
    """Write plainly what was written as volatile because several threads wrote it: only one does now."""
    bits = r"\*\s*\(volatile unsigned short\s*\*\)\s*&([^;=]+?)\s*=\s*__bfloat16_as_ushort\(([^;]*)\);"
    plain = r"\*\s*\(volatile float\s*\*\)\s*&([^;=]+?)\s*=\s*([^;]*);"
    return re.sub(plain, r"\1 = \2;", re.sub(bits, r"\1 = \2;", source))
