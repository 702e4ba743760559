"""Blocks that wait for their first thread: every thread computes what it did, and a block takes several items."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import LOAD_ONCE, configuration_edits, fresh, helper_name, indented, on_host, with_helper
from ..item_tile import LANES_FOR, PACKED, THREADS, TURNS, item_tile
from ..loops import ParallelLoop, effects_known, parallel_loops
from ..rule import KernelRule, Setting, distinct_arguments
from ..syntax import (
    Kernel,
    Launch,
    assigned_names,
    calls,
    coefficient,
    declared_name,
    edited,
    id_of,
    shows,
    squeezed,
    statements,
    text,
    walk,
    within,
    without,
)
from .tile_product import TILES

ROWS = 8
SHORT = 1024
"""Items of up to so many elements get a warp, longer ones a block."""


class PackItems(KernelRule):
    """A barrier after a few scalars of one thread: compute them in all threads, and give every item a warp."""

    name: ClassVar[str] = "pack_items"
    answers: ClassVar[tuple[str, ...]] = ("low_occupancy", "divergent_threads", "stall_mix", "narrow_loads")
    worth: ClassVar[float] = 1.44
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "every block has one short item, and its threads wait at a barrier for scalars that one of them computes: all "
        "can compute them, then nothing is shared, and several items fit in a block, a warp each"
    )
    effect: ClassVar[str] = "no barrier, fewer blocks and more loads in flight"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Compute the scalars in every thread, and count items along y."""
        source = kernel.source
        first = _first_thread(kernel)
        loops = parallel_loops(kernel)
        if first is None or len(loops) != 1 or not kernel.launches or not distinct_arguments(kernel):
            return None
        shared, alone, barrier = first
        loop = loops[0]
        if not loop.top or loop.form != "block" or not _own_elements(kernel, loop) or not _plain(kernel, loop, alone):
            return None
        if not _repeatable(kernel, shared, alone):
            return None
        if (tiled := self._tiled(kernel, loop, (shared, alone, barrier), setting)) is not None:
            return tiled
        item, items = source.unique("item"), source.unique("items")
        body = kernel.body.start_byte + 1
        head = (
            f"\n    const unsigned {item} = blockIdx.x * blockDim.y + threadIdx.y;\n    if ({item} >= {items}) return;"
        )
        last = kernel.parameters[-1].node
        edits = [(body, body, head), (last.end_byte, last.end_byte, f", unsigned {items}")]
        for node in walk(kernel.body):
            if node.type == "field_expression" and squeezed(node) == "blockIdx.x":
                edits.append((node.start_byte, node.end_byte, item))
        for declaration in shared:
            mark = next(c for c in declaration.children if text(c) == "__shared__")
            edits.append((mark.start_byte, mark.end_byte + 1, ""))
        block = alone.child_by_field_name("consequence")
        assert block is not None
        edits += [(alone.start_byte, block.start_byte, ""), (barrier.start_byte, barrier.end_byte, "")]
        for access in kernel.accesses:
            if access.written and within(access.node, alone):
                store = _statement(access.node)
                edits.append((store.start_byte, store.start_byte, "{ if (threadIdx.x == 0) "))
                edits.append((store.end_byte, store.end_byte, " }"))
        rows = source.unique("rows_of_block")
        for launch in kernel.launches:
            length = on_host(kernel, launch, text(loop.bound))
            if length is None or not _flat(kernel, launch):
                return None
            grid, threads = (text(n) for n in launch.configuration[:2])
            start = launch.statement.start_byte
            edits.append((start, start, f"const unsigned {rows} = {length} <= {SHORT} ? {ROWS} : 1;\n    "))
            edits += configuration_edits(
                launch,
                grid=f"(({grid}) + {rows} - 1) / {rows}",
                block=f"dim3({rows} > 1 ? 32 : {threads}, {rows})",
            )
            end = launch.arguments[-1].end_byte
            edits.append((end, end, f", {grid}"))
        return edited(source.text, edits) if len(kernel.launches) == 1 else None

    @staticmethod
    def _tiled(
        kernel: Kernel, loop: ParallelLoop, first: tuple[list[Node], Node, Node], setting: Setting
    ) -> str | None:
        """Give a block several items whose elements lie one behind the other."""
        source = kernel.source
        packed = helper_name(source, "Packed", PACKED)
        lanes_for, tiles_of = helper_name(source, "lanes_for", LANES_FOR), helper_name(source, "tiles_of", TILES)
        load_once = helper_name(source, "load_once", LOAD_ONCE)
        tile = item_tile(kernel, loop, *first, packed, load_once)
        if tile is None or len(kernel.launches) != 1:
            return None
        launch = kernel.launches[0]
        length = on_host(kernel, launch, text(loop.bound))
        if length is None or not _flat(kernel, launch):
            return None
        width, turns, items = source.unique("width"), source.unique("turns"), source.unique("items")
        names = {"@width": width, "@turns": turns, "@items": items}
        code = re.sub(r"@(?:width|turns|items)\b", lambda found: names[found[0]], tile.code)
        last, at = kernel.parameters[-1].node, kernel.declarator.start_byte
        edits = [
            (kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(fresh(source, code), 4) + "\n}"),
            (kernel.node.start_byte, kernel.node.start_byte, f"template <int {width}, int {turns}>\n"),
            (at, at, f"__launch_bounds__({THREADS}, 4) "),
            (last.end_byte, last.end_byte, f", unsigned {items}"),
        ]
        pointers = " | ".join(f"(size_t)({launch.argument(kernel, name)})" for name in tile.arrays)
        given = ", ".join(text(n) for n in launch.arguments)
        rest = "".join(f", {text(n)}" for n in launch.configuration[2:])

        def call(wide: int, high: int) -> str:
            rows = f"{THREADS} / @lanes{f' * {high}' if high > 1 else ''}"
            grid = f"{tiles_of}(@items, {rows}, 2147483647), dim3(@lanes, {THREADS} / @lanes)"
            return f"{kernel.name}<{wide}, {high}><<<{grid}{rest}>>>({given}, @items);"

        chosen = fresh(
            source,
            f"""\
{{
    const unsigned @items = {text(launch.configuration[0])};
    const bool @wide = ({pointers}) % 16 == 0 && ({length}) % {tile.width} == 0;
    const unsigned @lanes = {lanes_for}(@wide ? ({length}) / {tile.width} : ({length}));
    // Several items behind each other only where enough blocks are left.
    if (@wide && @items / ({THREADS} / @lanes * {TURNS}) >= {setting.multiprocessors}) {{
        {call(tile.width, TURNS)}
    }} else if (@wide) {{
        {call(tile.width, 1)}
    }} else {{
        {call(1, TURNS)}
    }}
}}""",
        )
        edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chosen, 4).lstrip()))
        result = edited(source.text, edits)
        for name, helper in ((lanes_for, LANES_FOR), (tiles_of, TILES), (packed, PACKED), (load_once, LOAD_ONCE)):
            result = with_helper(result, name, helper)
        return result


def _first_thread(kernel: Kernel) -> tuple[list[Node], Node, Node] | None:
    """Return the declarations of shared scalars, the `if (threadIdx.x == 0) {…}` that sets them, and the barrier."""
    listed = kernel.statements
    shared = [n for n in listed if any(text(c) == "__shared__" for c in n.children)]
    alone = [n for n in listed if n.type == "if_statement" and squeezed(n).startswith("if(threadIdx.x==0){")]
    barriers = [n for n in walk(kernel.body) if n.type == "call_expression" and text(n).startswith("__sync")]
    if not shared or len(alone) != 1 or len(barriers) != 1 or alone[0].child_by_field_name("alternative") is not None:
        return None
    after = listed[listed.index(alone[0]) + 1 :]
    if not after or squeezed(after[0]) != "__syncthreads();" or not within(barriers[0], after[0]):
        return None
    if any(n.type != "identifier" for d in shared for n in d.children_by_field_name("declarator")):
        return None
    return shared, alone[0], after[0]


def _plain(kernel: Kernel, loop: ParallelLoop, alone: Node) -> bool:
    """Return whether the rest of a kernel knows of its threads' places only what the loop and the item need."""
    code = text(kernel.node)
    if kernel.template is not None or re.search(r"atomic|__shfl|\breturn\b|\bvolatile\b|launch_bounds", code):
        return False
    heads = [loop.node.child_by_field_name(f) for f in ("initializer", "update")]
    heads.append(alone.child_by_field_name("condition"))
    for node in walk(kernel.body):
        if node.type == "identifier" and text(node) in ("threadIdx", "blockDim", "gridDim", "blockIdx"):
            item = node.parent is not None and squeezed(node.parent) == "blockIdx.x"
            if not item and not any(head is not None and within(node, head) for head in heads):
                return False
    return True


def _own_elements(kernel: Kernel, loop: ParallelLoop) -> bool:
    """Return whether the loop's turns touch, of what is written in it, only a place of their own each."""
    if loop.carried or not effects_known(loop) or loop.leaves("break_statement", "goto_statement", "asm_statement"):
        return False
    places: dict[str, set[str]] = {}
    for root, index, *_ in loop.accesses():
        if root in kernel.written_roots:
            if coefficient(index, loop.variable) != {(): 1} or shows(without(index, loop.variable), loop.variable):
                return False
            places.setdefault(root, set()).add(str(sorted(index.items())))
    here = {a.root for a in kernel.accesses if not any(within(a.node, n) for n in loop.body)}
    return bool(places) and all(len(p) == 1 for p in places.values()) and not here & set(places)


def _repeatable(kernel: Kernel, shared: list[Node], alone: Node) -> bool:
    """Return whether all threads may do what the first one did: it sets the scalars, and stores what none reads."""
    scalars = {declared_name(c) for d in shared for c in d.children_by_field_name("declarator")}
    block = alone.child_by_field_name("consequence")
    own = {declared_name(n) for n in walk(block) if n.type == "init_declarator"} if block is not None else set()
    if block is None or not all(kernel.source.pure(name) for name in calls(block)):
        return False
    if any(n.type in ("for_statement", "while_statement", "do_statement") for n in walk(block)):
        return False
    if not scalars <= assigned_names(block) <= scalars | own:
        return False
    if any(assigned_names(n) & scalars for n in statements(kernel.body) if n.id != alone.id):
        return False
    stored = {a.root for a in kernel.accesses if a.written and within(a.node, alone)}
    simple = all(_statement(a.node).type == "expression_statement" for a in kernel.accesses if a.root in stored)
    traced = {id_of(a.node) for a in kernel.accesses}
    known = all(id_of(n) in traced for n in walk(block) if n.type in ("subscript_expression", "pointer_expression"))
    once = all(a.written and not a.read and within(a.node, alone) for a in kernel.accesses if a.root in stored)
    return simple and known and once


def _flat(kernel: Kernel, launch: Launch) -> bool:
    """Return whether a launch is a statement of its own over one axis, with no shared memory asked for."""
    source, shared = kernel.source, launch.configuration[2:3]
    flat = source.block_of(launch)[1:] == (1, 1) and source.grid_of(launch)[1:] == (1, 1)
    place = launch.statement.parent
    alone = launch.statement.type == "expression_statement" and place is not None and place.type == "compound_statement"
    return flat and alone and [squeezed(n) for n in shared] in ([], ["0"])


def _statement(node: Node) -> Node:
    up = node
    while up.parent is not None and not up.type.endswith("statement"):
        up = up.parent
    return up
