"""A merge sort whose runs are merged by one thread each: every element finds its own place instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import BLOCKS_FOR, configuration_edits, dedented, fresh, helper_name, indented, with_helper
from ..loops import for_parts, parallel_loops
from ..rule import KernelRule, Setting, distinct_arguments
from ..spelling import plain
from ..syntax import (
    Kernel,
    Launch,
    add,
    assigned_names,
    declared_name,
    edited,
    multiply,
    real,
    squeezed,
    statements,
    substitute,
    text,
    walk,
)

TILE = 1024
"""Elements that one block sorts alone: ten levels, so that they end where they began."""


@dataclass(frozen=True)
class Merge:
    """`for i in [start, end)`: take the smaller head of the runs [start, middle) and [middle, end)."""

    pair: str
    pairs: Node = field(repr=False)
    """How many pairs of runs there are."""
    width: str
    """The parameter that is a run's length: end is at most start + 2 * width."""
    start: str
    middle: str
    end: str
    index: str
    left: str
    right: str
    right_first: Node = field(repr=False)
    """The condition under which the right run's head goes first."""
    chosen: Node = field(repr=False)
    """The expression that takes a head."""
    setup: tuple[Node, ...] = field(repr=False)
    moves: tuple[Node, ...] = field(repr=False)


class RankMerge(KernelRule):
    """One thread merges two runs in turn: a binary search gives every element its place at once."""

    name: ClassVar[str] = "rank_merge"
    answers: ClassVar[tuple[str, ...]] = (
        "wasteful_algorithm", "too_few_blocks", "uncoalesced_access", "low_occupancy", "launch_or_sync_bound",
        "divergent_threads", "stall_mix",
    )  # fmt: skip
    worth: ClassVar[float] = 60.0
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "a single thread merges two runs one element after another, at the last level the whole array: an element's "
        "place is its own rank plus its rank in the other run, which a binary search finds, so each gets a thread"
    )
    effect: ClassVar[str] = "as many threads as elements at every level; short runs sorted in one launch"

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Give every element its place by a search in the other run."""
        source, merge = kernel.source, find_merge(kernel)
        levels = find_levels(kernel, merge) if merge is not None else None
        if merge is None or levels is None:
            return None
        loop, there, back = levels
        names = [p.name for p in kernel.parameters]
        listed = ", ".join(" ".join(text(p.node).split()) for p in kernel.parameters)
        writable = re.sub(r"\bconst (?=[^,]*\*)", "", listed)
        place = source.unique("place_element")
        swapped = _exchanged(there, back, names)
        if swapped is None:
            return None
        code = fresh(source, self._element(kernel, merge))
        thread = "blockIdx.x * (long long)blockDim.x + threadIdx.x"
        tile = source.unique("sort_tile")
        width = merge.width
        parameter = kernel.parameter(width)
        assert parameter is not None
        plain_call = ", ".join("step" if n == width else n for n in names)
        back_call = ", ".join("2 * step" if n == width else swapped[n] for n in names)
        kernels = f"""\
// Move one element to its place in the merge of its pair of runs.
static __device__ __forceinline__ void {place}(long long @item, {listed}) {{
{indented(code, 4)}
}}

__global__ void {kernel.name}({listed}) {{
    {place}({thread}, {", ".join(names)});
}}

// The levels up to runs of {TILE} elements, which one block sorts alone.
__global__ void {tile}({writable}) {{
    for ({parameter.type} step = 1; step < {TILE}; step *= 4) {{
        {place}({thread}, {plain_call});
        __syncthreads();
        {place}({thread}, {back_call});
        __syncthreads();
    }}
}}"""
        kernels = fresh(source, kernels)
        blocks_for = helper_name(source, "blocks_for", BLOCKS_FOR)
        edits = [(kernel.outer.start_byte, kernel.outer.end_byte, kernels)]
        variable = text(there.arguments[names.index(width)])
        for launch, by in ((there, variable), (back, f"(2 * {variable})")):
            count = _pairs_on_host(kernel, merge, launch, by)
            edits += configuration_edits(launch, grid=f"{blocks_for}({count} * (2 * {by}), 256)", block="256")
        given = back.arguments[names.index(width)]
        edits.append((given.start_byte, given.end_byte, f"2 * {variable}"))
        initializer, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
        assert initializer is not None
        assert update is not None
        kind = text(initializer.child_by_field_name("type"))
        begin, failed = source.unique("first_width"), source.unique("launch_error")
        tiles, ones = (_pairs_on_host(kernel, merge, there, size) for size in (f"{TILE // 2}LL", "1LL"))
        arguments = ", ".join("1" if n == width else text(a) for n, a in zip(names, there.arguments, strict=True))
        rest = "".join(f", {text(n)}" for n in there.configuration[2:])
        ahead = (
            f"// Tiles must be the same at every level: rows of whole tiles, or a single one.\n"
            f"{kind} {begin} = 1;\n"
            f"if ({tiles} == 1 || {tiles} * {TILE} == {ones} * 2) {{\n"
            f"    {tile}<<<(unsigned)({tiles}), {TILE}{rest}>>>({arguments});\n"
            f"    if (const cudaError_t {failed} = cudaGetLastError(); {failed} != cudaSuccess) return {failed};\n"
            f"    {begin} = {TILE};\n"
            f"}}\n"
        )
        edits.append((loop.start_byte, loop.start_byte, indented(ahead, 4).lstrip() + "    "))
        edits.append((initializer.start_byte, initializer.end_byte, f"{kind} {variable} = {begin};"))
        edits.append((update.start_byte, update.end_byte, f"{variable} *= 4"))
        return with_helper(edited(source.text, edits), blocks_for, BLOCKS_FOR)

    @staticmethod
    def _element(kernel: Kernel, m: Merge) -> str:
        """Return the body that moves element `@item` of all pairs of runs."""
        goes_first = text(m.right_first)
        in_right = substitute(goes_first, {m.left: "@own", m.right: "@half"})
        in_left = substitute(goes_first, {m.right: "@own", m.left: "@half"})
        moves = "\n".join(
            dedented(
                edited(
                    text(n),
                    [(m.chosen.start_byte - n.start_byte, m.chosen.end_byte - n.start_byte, "@own")]
                    if n.start_byte <= m.chosen.start_byte and m.chosen.end_byte <= n.end_byte
                    else [],
                )
            )
            for n in m.moves
        )
        setup = "\n".join(dedented(text(n)) for n in m.setup)
        before = "\n".join(dedented(text(n)) for n in kernel.statements if n.end_byte <= _guard(kernel).start_byte)
        before = re.sub(rf"[^\n;]*\b{re.escape(m.pair)}\s*=[^;]*;", "", before)
        return f"""\
{before.strip()}
const long long {m.pair} = @item / (2 * {m.width});
if ({m.pair} >= {text(m.pairs)}) return;
{setup}
const long long @own = {m.start} + @item % (2 * {m.width});
if (@own >= {m.end}) return;
const bool @from_left = @own < {m.middle};
long long @low = @from_left ? {m.middle} : {m.start}, @high = @from_left ? {m.end} : {m.middle};
while (@low < @high) {{
    const long long @half = (@low + @high) / 2;
    const bool @before = @from_left ? {in_right} : !({in_left});
    if (@before) {{
        @low = @half + 1;
    }} else {{
        @high = @half;
    }}
}}
const long long {m.index} = @own + @low - {m.middle};
{moves}"""


def _guard(kernel: Kernel) -> Node:
    return next(item for item in parallel_loops(kernel) if item.form == "guard").node


def find_merge(kernel: Kernel) -> Merge | None:
    """Recognise a kernel whose threads each merge one pair of runs, element by element."""
    guard = next((item for item in parallel_loops(kernel) if item.form == "guard"), None)
    if guard is None or guard.declaration is None or kernel.cooperates or kernel.template is not None:
        return None
    if not distinct_arguments(kernel) or not guard.body or guard.body[-1].type != "for_statement":
        return None
    *setup, loop = guard.body
    parts = for_parts(loop)
    inner = statements(loop.child_by_field_name("body"))
    if parts is None or parts[3] != "<" or parts[5] != {(): 1} or len(inner) < 3:
        return None
    index, start, end = parts[0], text(parts[2]), text(parts[4])
    flag = re.fullmatch(r"(?:const)?bool(\w+)=(\w+)==(\w+);", squeezed(inner[0]).replace("bool", "bool", 1))
    test = inner[1].child_by_field_name("condition") if inner[1].type == "if_statement" else None
    if flag is None or test is None or inner[1].child_by_field_name("alternative") is not None:
        return None
    took, left, middle = flag[1], flag[2], flag[3]
    both = re.fullmatch(rf"\({left}<{middle}&&(\w+)<{end}\)", squeezed(test))
    decided = statements(inner[1].child_by_field_name("consequence"))
    if both is None or len(decided) != 1 or not squeezed(decided[0]).startswith(f"{took}="):
        return None
    right = both[1]
    assignment = real(decided[0].named_children)[0]
    right_first = assignment.child_by_field_name("right")
    heads = [
        n for s in inner[2:] for n in walk(s)
        if n.type == "conditional_expression" and squeezed(n) == f"{took}?{right}++:{left}++"
    ]  # fmt: skip
    used = [text(n) for s in inner[2:] for n in walk(s) if n.type == "identifier"]
    if right_first is None or len(heads) != 1 or used.count(left) != 1 or used.count(right) != 1:
        return None
    if any(n.type not in ("declaration", "expression_statement") for n in inner[2:]):
        return None
    values = {
        declared_name(c): c.child_by_field_name("value") for n in setup for c in n.children_by_field_name("declarator")
    }
    if squeezed(values.get(left)) != start or squeezed(values.get(right)) != middle:
        return None
    width = _width(kernel, values, start, middle, end)
    if width is None or any(n.type != "declaration" for n in setup):
        return None
    changed = assigned_names(kernel.body) - {left, right, took}
    reads = {a.root for a in kernel.accesses_in(right_first)}
    if changed - kernel.written_roots - {index} or reads & kernel.written_roots or not reads:
        return None
    kept = tuple(n for n in setup if not {declared_name(c) for c in n.children_by_field_name("declarator")}
                 & {left, right})  # fmt: skip
    if len(kept) != len(setup) - 2:
        return None
    return Merge(
        guard.variable, guard.bound, width, start, middle, end, index, left, right, right_first, heads[0], kept,
        tuple(inner[2:]),
    )  # fmt: skip


def _width(kernel: Kernel, values: dict[str, Node | None], start: str, middle: str, end: str) -> str | None:
    """Return the parameter W of `middle = min(start + W, n)` and `end = min(start + 2·W, n)`."""
    spans = []
    limits = set()
    for name in (middle, end):
        found = re.fullmatch(r"(.+)<(\w+)\?(.+):(\w+)", squeezed(values.get(name)))
        node = values.get(name)
        reached = node.child_by_field_name("consequence") if node is not None else None
        if found is None or found[1] != found[3] or found[2] != found[4] or reached is None:
            return None
        limits.add(found[2])
        spans.append(add(kernel.poly(reached), kernel.poly(values.get(start)), -1))
    if len(limits) != 1 or spans[1] != multiply(spans[0], {(): 2}) or len(spans[0]) != 1:
        return None
    ((key, factor),) = spans[0].items()
    parameter = kernel.parameter(key[0]) if len(key) == 1 and factor == 1 else None
    return parameter.name if parameter is not None and not parameter.pointer else None


def find_levels(kernel: Kernel, merge: Merge) -> tuple[Node, Launch, Launch] | None:
    """Return the host's loop over doubling widths with its two launches: there, and the same again back."""
    if len(kernel.launches) != 2:
        return None
    there, back = kernel.launches
    loop: Node | None = there.node
    while loop is not None and loop.type != "for_statement":
        loop = loop.parent
    if loop is None or not (loop.start_byte < back.node.start_byte < loop.end_byte):
        return None
    position = [p.name for p in kernel.parameters].index(merge.width)
    variable = text(there.arguments[position])
    initializer, update = (
        squeezed(loop.child_by_field_name("initializer")),
        squeezed(loop.child_by_field_name("update")),
    )
    if not re.fullmatch(rf"[a-z]+{variable}=1;", initializer) or update != f"{variable}*=2":
        return None
    if text(back.arguments[position]) != variable or variable in assigned_names(
        loop.child_by_field_name("body") or loop
    ):
        return None
    return loop, there, back


def _exchanged(there: Launch, back: Launch, names: list[str]) -> dict[str, str] | None:
    """Return which parameter of the way there is passed for each on the way back; None if it isn't an exchange."""
    given = [squeezed(a) for a in there.arguments]
    found = {}
    for name, argument in zip(names, back.arguments, strict=True):
        if given.count(squeezed(argument)) != 1:
            return None
        found[name] = names[given.index(squeezed(argument))]
    return found if all(found[found[n]] == n for n in names) else None


def _pairs_on_host(kernel: Kernel, merge: Merge, launch: Launch, width: str) -> str:
    """Return the number of pairs of runs as an expression of the host, for some width."""
    expression = text(merge.pairs)
    for _ in range(4):
        for name, value in kernel.locals.items():
            expression = substitute(expression, {name: f"({text(value)})"})
    given = {}
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        given[parameter.name] = width if parameter.name == merge.width else f"{text(argument)}"
    return f"({substitute(expression, given)})"
