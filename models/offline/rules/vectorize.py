"""128-bit loads and stores for arrays that a loop goes through one element at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from tree_sitter import Node

from ..emit import (
    BLOCKS_FOR,
    LOAD_ONCE,
    VECTOR,
    configuration_edits,
    dedented,
    helper_name,
    indented,
    on_host,
    polynomial_text,
    with_helper,
)
from ..loops import ParallelLoop, effects_known, parallel_loops
from ..rule import KernelRule, Setting, distinct_arguments
from ..syntax import (
    SIZES,
    Kernel,
    Launch,
    Poly,
    Source,
    calls,
    coefficient,
    edited,
    how_used,
    id_of,
    real,
    shows,
    statements,
    text,
    walk,
    within,
    without,
)


@dataclass
class Stream:
    """One array that is read or written at consecutive places by consecutive iterations."""

    root: str
    type: str
    offset: Poly
    """Where iteration 0 is."""
    nodes: list[Node] = field(default_factory=list)
    loaded: bool = False
    stored: bool = False


_GRID = "blockIdx.x * (long long)blockDim.x + threadIdx.x", "(long long)gridDim.x * blockDim.x"
STEPS = {
    "block": ("threadIdx.x", "blockDim.x"),
    "slab": ("blockIdx.y * (long long)blockDim.x + threadIdx.x", "(long long)gridDim.y * blockDim.x"),
    "grid": _GRID,
    "guard": _GRID,
}
"""First index and step of a thread, by a loop's form."""


CHEAP = {
    "__bfloat162float", "__float2bfloat16", "__float2bfloat16_rn", "float", "int", "fmaxf", "fminf", "max", "min",
    "fabsf", "abs",
}  # fmt: skip
"""Calls that are an instruction or two."""

SINGLES = 4
"""Elements of an unaligned row that a thread has under way at once."""

BLOCKS_FOR_PAIRS = """\
// Blocks that give every thread one item, or two items where these blocks would be more than `most`; at least one.
static unsigned {name}(long long items, int threads, int most) {{
    const long long blocks = (items + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? (blocks + 1) / 2 : blocks);
}}
"""


class Vectorize(KernelRule):
    """Four floats or eight bf16 per access, where the pointers are aligned; else, and for the tail, one by one."""

    name: ClassVar[str] = "vectorize"
    answers: ClassVar[tuple[str, ...]] = ("narrow_loads", "stall_mix")
    worth: ClassVar[float] = 1.4
    metric: ClassVar[str] = "global_load_requests"
    why: ClassVar[str] = (
        "each thread moves one small element per instruction: 16-byte accesses need fewer instructions and keep more "
        "bytes in flight; the tail and unaligned arrays go one by one"
    )
    effect: ClassVar[str] = "a quarter (float) or an eighth (bf16) of the load and store instructions"
    steps: ClassVar[int] = 2

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Rewrite a kernel's first loop that qualifies."""
        if not kernel.launches or re.search(r"\bvolatile\b", text(kernel.node)) or not distinct_arguments(kernel):
            return None
        width = 16 >> setting.narrow
        rewritten = (self._loop(kernel, loop, width, setting.multiprocessors) for loop in parallel_loops(kernel))
        return next((code for code in rewritten if code is not None), None)

    def _loop(self, kernel: Kernel, loop: ParallelLoop, width: int, multiprocessors: int) -> str | None:
        source = kernel.source
        if loop.leaves(
            "return_statement", "break_statement", "goto_statement", "for_statement", "while_statement", "asm_statement"
        ):
            return None
        # Along x a block's loop is its own for every y.
        if (kernel.uses("threadIdx.y") and loop.form != "block") or (kernel.uses("blockIdx.y") and loop.form != "slab"):
            return None
        if not effects_known(loop):
            return None
        if not disjoint_writes_here(loop) or (loop.form == "guard" and loop.carried):
            return None
        if not _separated(kernel, loop):
            return None
        streams = self.streams(kernel, loop)
        if not streams or (loop.leaves("continue_statement") and any(s.stored for s in streams)):
            return None
        smallest = min(SIZES[s.type] for s in streams)
        count = width // smallest
        if count < 2 or any(SIZES[s.type] * count > 32 for s in streams):
            return None
        vector = helper_name(source, "Vector", VECTOR)
        own = loop.top and loop.form in ("grid", "guard") and not (loop.form == "grid" and loop.carried)
        dear = set().union(*(calls(n) for n in loop.body), set()) - CHEAP
        batch = (1 if dear else 2) if own else (2 if dear or len(streams) > 1 else 4)
        # What passes through once makes room first: what is written then stays in the L2.
        once = own and any(s.stored for s in streams)
        once_roots = {s.root for s in streams if not s.stored and _only_here(kernel, s)} if once else set()
        load_once = helper_name(source, "load_once", LOAD_ONCE) if once_roots else ""
        code = self._code(source, loop, streams, count, vector, batch, dict.fromkeys(once_roots, load_once))
        start, end = loop.node.start_byte, loop.node.end_byte
        if loop.form == "guard":
            assert loop.declaration is not None
            start, end = loop.declaration.start_byte, max(end, loop.body[-1].end_byte if loop.body else end)
            between = [n for n in kernel.statements if start < n.start_byte < loop.node.start_byte]
            if any(shows(kernel.poly(n), loop.variable) or loop.variable in text(n) for n in between):
                return None
            code = "".join(f"{text(n)}\n" for n in between) + code
        edits = [(start, end, indented(code, loop.node.start_point.column).lstrip())]
        if batch > 1 and not (own and all(few_threads(source, launch) for launch in kernel.launches)):
            edits += bounded(kernel)
        if own:
            helper = BLOCKS_FOR if batch == 1 else BLOCKS_FOR_PAIRS
            blocks_for = helper_name(source, "blocks_for" if batch == 1 else "blocks_for_pairs", helper)
            most = "" if batch == 1 else f", 4 * {multiprocessors}"
            for launch in kernel.launches:
                items = on_host(kernel, launch, text(loop.bound))
                threads: int | str | None = source.block_of(launch)[0]
                if items is None or threads is None:
                    return None
                items = items if re.fullmatch(r"\w+|\(.*\)", items) else f"({items})"
                written = text(launch.configuration[1])
                threads = written if re.fullmatch(r"\w+", written) else threads
                edits += configuration_edits(
                    launch, grid=f"{blocks_for}(({items} + {count - 1}LL) / {count}, {threads}{most})"
                )
            result = with_helper(with_helper(edited(source.text, edits), blocks_for, helper), vector, VECTOR)
            return with_helper(result, load_once, LOAD_ONCE) if load_once else result
        return with_helper(edited(source.text, edits), vector, VECTOR)

    def streams(self, kernel: Kernel, loop: ParallelLoop) -> list[Stream] | None:
        """Return the arrays to access in vectors; None if a store stands in the way."""
        found: dict[tuple[str, str], Stream] = {}
        top = {n.id for n in loop.body}
        for root, index, node, written, read in loop.accesses():
            parameter = kernel.parameter(root)
            factor, offset = coefficient(index, loop.variable), without(index, loop.variable)
            moves = bool(factor)
            straight = factor == {(): 1} and not shows(offset, loop.variable)
            fixed = not any(shows(offset, name) for name in loop.declared | loop.assigned)
            if parameter is None:
                return None
            wide = straight and fixed and parameter.type in SIZES and 2 <= SIZES[parameter.type] <= 4
            if root in kernel.written_roots:
                statement = _statement(node)
                if not wide or (written and (statement.id not in top or address_taken(node))):
                    return None
            if not wide or not moves or (root not in kernel.written_roots and address_taken(node)):
                continue
            if out_of_range_perhaps(node, loop):
                return None
            stream = found.setdefault((root, polynomial_text(offset)), Stream(root, parameter.type, offset))
            stream.nodes.append(node)
            stream.loaded |= read
            stream.stored |= written
        offsets = [(s.root, polynomial_text(without_constant(s.offset))) for s in found.values()]
        # Neighbours of one array, as in a stencil, are never aligned together.
        return list(found.values()) if len(set(offsets)) == len(offsets) else None

    def _code(
        self,
        source: Source,
        loop: ParallelLoop,
        streams: list[Stream],
        count: int,
        vector: str,
        batch: int,
        once: dict[str, str],
    ) -> str:
        """Write the loop over vectors, and a plain one over what is left.

        A thread loads `batch` vectors before it uses the first, so that their times in memory overlap. The loops stay
        rolled: a compiler that unrolls them goes one by one through the turns left over, and divides to count them.
        """
        # Rows may be unaligned: then the plain loop has all the work.
        rolled = ["#pragma unroll 1"] if not any(stream.offset for stream in streams) else []
        name, bound = loop.variable, text(loop.bound)
        total = f"({bound})" if re.search(r"[-+?|&]", bound) else bound
        done, whole, group, item, turn = (source.unique(n) for n in ("done", "whole", "group", "item", "turn"))
        place = source.unique("place") if batch > 1 else group
        start, step = STEPS[loop.form]
        taken: dict[tuple[int, int], str] = {}
        pointers: list[tuple[str, str]] = []
        arrays: list[str] = []
        loads: list[str] = []
        stores: list[str] = []
        for stream in streams:
            constant = "" if stream.stored else "const "
            kind = f"{vector}<{stream.type}, {count}>"
            at = stream.root if not stream.offset else f"{stream.root} + {polynomial_text(stream.offset)}"
            local = source.unique(f"{stream.root}_vector")
            while local in [name for name, _ in pointers]:
                local += "_"
            pointers.append((local, at))
            cast = f"reinterpret_cast<{constant}{kind}*>({at})[{place}]"
            one = local if batch == 1 else f"{local}[{turn}]"
            arrays.append(f"{kind} {local}[{batch}]{' = {}' if stream.loaded else ''};")
            if stream.loaded:
                value = f"{once[stream.root]}(&{cast})" if stream.root in once else cast
                loads.append(f"{constant}{kind} {local} = {value};" if batch == 1 else f"{one} = {value};")
            elif batch == 1:
                loads.append(f"{kind} {local};")
            if stream.stored:
                stores.append(f"{cast} = {one};")
            for node in stream.nodes:
                taken[(node.start_byte, node.end_byte)] = f"{one}.at[{item}]"
        wide_body = "\n".join(dedented(_unbranched(source, n, taken) or replaced(n, taken)) for n in loop.body)
        plain_body = "\n".join(dedented(text(n)) for n in loop.body)
        needs_index = re.search(rf"\b{re.escape(name)}\b", wide_body) is not None
        use = [
            "#pragma unroll",
            f"for (int {item} = 0; {item} < {count}; ++{item}) {{",
            *([f"    const long long {name} = {place} * {count} + {item};"] if needs_index else []),
            indented(wide_body, 4),
            "}",
            *stores,
        ]

        def each(lines: list[str]) -> list[str]:
            return [
                "#pragma unroll",
                f"for (int {turn} = 0; {turn} < {batch}; ++{turn}) {{",
                f"    const long long {place} = {group} + {turn} * ({step});",
                f"    if ({place} < {whole}) {{",
                indented("\n".join(lines), 8),
                "    }",
                "}",
            ]

        stride = step if batch == 1 else f"{batch} * ({step})"
        inside = [*loads, *use] if batch == 1 else [*arrays, *each(loads), *each(use)]
        plain = f"for (long long {name} = {done} + {start}; {name} < {bound}; {name} += {step}) {{"
        left = [*rolled, plain, indented(plain_body, 4), "}"]
        named = {text(n) for stream in streams for n in walk(stream.nodes[0]) if n.type == "identifier"}
        if not rolled and not any(stream.stored for stream in streams) and not named & loop.declared:
            left = _one_by_one(source, loop, streams, done)
        return "\n".join(
            [
                f"long long {done} = 0;",
                f"if (({' | '.join(f'reinterpret_cast<size_t>({at})' for _, at in pointers)}) % 16 == 0) {{",
                f"    const long long {whole} = {total} / {count};",
                "    #pragma unroll 1",
                f"    for (long long {group} = {start}; {group} < {whole}; {group} += {stride}) {{",
                indented("\n".join(inside), 8),
                "    }",
                f"    {done} = {whole} * {count};",
                "}",
                *left,
            ]
        )


def _one_by_one(source: Source, loop: ParallelLoop, streams: list[Stream], done: str) -> list[str]:
    """Write a loop over single elements that loads several before it uses the first: rows may be unaligned."""
    name, bound = loop.variable, text(loop.bound)
    start, step = STEPS[loop.form]
    first, turn = source.unique("first"), source.unique("turn")
    taken: dict[tuple[int, int], str] = {}
    arrays: list[str] = []
    loads: list[str] = []
    for stream in streams:
        local = source.unique(f"{stream.root}_ahead")
        while any(f" {local}[" in line for line in arrays):
            local += "_"
        arrays.append(f"    {stream.type} {local}[{SINGLES}] = {{}};")
        loads.append(f"{local}[{turn}] = {text(stream.nodes[0])};")
        taken |= {(n.start_byte, n.end_byte): f"{local}[{turn}]" for n in stream.nodes}
    body = "\n".join(dedented(_unbranched(source, n, taken) or replaced(n, taken)) for n in loop.body)

    def each(code: str) -> list[str]:
        return [
            "    #pragma unroll",
            f"    for (int {turn} = 0; {turn} < {SINGLES}; ++{turn}) {{",
            f"        const long long {name} = {first} + {turn} * (long long)({step});",
            f"        if ({name} < {bound}) {{",
            indented(code, 12),
            "        }",
            "    }",
        ]

    head = (
        f"for (long long {first} = {done} + {start}; {first} < {bound}; {first} += {SINGLES} * (long long)({step})) {{"
    )
    return ["#pragma unroll 1", head, *arrays, *each("\n".join(loads)), *each(body), "}"]


def few_threads(source: Source, launch: Launch) -> bool:
    """Return whether a block is known to have so few threads that registers can't run out: 512 or less."""
    sides = source.block_of(launch)
    return None not in sides and prod(side for side in sides if side is not None) <= 512


def bounded(kernel: Kernel) -> list[tuple[int, int, str]]:
    """Return the edit that keeps the registers of a kernel few enough for a block of 1024 threads, but no fewer.

    Without a number of blocks the compiler saves registers for more of them, and loads one vector after another.
    """
    name = kernel.declarator.child_by_field_name("declarator")
    if name is None or any(n.type == "launch_bounds" for n in walk(kernel.node)):
        return []
    return [(name.start_byte, name.start_byte, "__launch_bounds__(1024, 1) ")]


def _only_here(kernel: Kernel, stream: Stream) -> bool:
    """Return whether a kernel reads an array in one stream alone."""
    here = {id_of(node) for node in stream.nodes}
    return all(id_of(access.node) in here for access in kernel.accesses if access.root == stream.root)


def without_constant(offset: Poly) -> Poly:
    """Return an offset but for its constant part."""
    return {key: value for key, value in offset.items() if key}


def out_of_range_perhaps(node: Node, loop: ParallelLoop) -> bool:
    """Return whether a condition on the index itself guards an access: read ahead of it, it might be out of range."""
    up = node
    while up.parent is not None and not any(up.id == n.id for n in loop.body):
        up, below = up.parent, up
        condition = up.child_by_field_name("condition")
        if up.type == "binary_expression" and text(up.child_by_field_name("operator")) in ("&&", "||"):
            condition = up.child_by_field_name("left")
        if condition is None or within(below, condition):
            continue
        accessed = [a.node for a in loop.kernel.accesses_in(condition, loop.variable)]
        for name in walk(condition):
            if name.type != "identifier":
                continue
            atoms = (a for key in loop.kernel.poly(name, loop.variable) for a in key)
            bare = [re.sub(r"\w+\[[^\[\]]*\]", "", a) for a in atoms]  # what is loaded is data, not an index
            indexed = any(re.search(rf"(?<!\w){re.escape(loop.variable)}(?!\w)", a) for a in bare)
            if indexed and not any(within(name, a) for a in accessed):
                return True
    return False


def disjoint_writes_here(loop: ParallelLoop) -> bool:
    """Return whether the loop's writes are its iterations' own, or the kernel writes arrays only elsewhere."""
    touched = {root for root, _, _, written, _ in loop.accesses() if written}
    return not touched or (touched <= loop.kernel.written_roots and _own(loop, touched))


def _separated(kernel: Kernel, loop: ParallelLoop) -> bool:
    """Return whether a barrier lies between this loop and every other use of what it writes or what is written.

    In a vector loop other threads touch the elements than in a plain one: without a barrier they would race.
    """
    source = kernel.source
    barriers = [
        n.start_byte
        for n in walk(kernel.body)
        if n.type == "call_expression" and _has_barrier(source, text(n.child_by_field_name("function")))
    ]
    here = {root for root, *_ in loop.accesses() if root in kernel.written_roots}
    for access in kernel.accesses:
        if access.root not in here or any(within(access.node, n) for n in loop.body):
            continue
        before = access.node.end_byte <= loop.node.start_byte
        low, high = (
            (access.node.end_byte, loop.node.start_byte) if before else (loop.node.end_byte, access.node.start_byte)
        )
        if not any(low <= b <= high for b in barriers):
            return False
    return True


def _has_barrier(source: Source, name: str) -> bool:
    if name == "__syncthreads":
        return True
    code = text(source.functions.get(name))
    return "__syncthreads" in code and ("return" not in code.split("__syncthreads")[0] or "__syncwarp" in code)


def _own(loop: ParallelLoop, touched: set[str]) -> bool:
    places: dict[str, set[str]] = {}
    for root, index, *_ in loop.accesses():
        if root in touched:
            places.setdefault(root, set()).add(polynomial_text(index))
    return all(len(p) == 1 for p in places.values())


def _statement(node: Node) -> Node:
    up = node
    while up.parent is not None and up.type != "expression_statement":
        up = up.parent
    return up


def address_taken(node: Node) -> bool:
    """Return whether code asks for an element's address."""
    parent = node.parent
    return parent is not None and parent.type == "pointer_expression" and how_used(node) == (True, True)


def _unbranched(source: Source, node: Node, taken: dict[tuple[int, int], str]) -> str | None:
    """Return `if (test) total += value;` so that a dear value is computed in any case, and added if the test holds.

    The values of neighbouring elements overlap then, where a branch each would keep them apart. None if it is another
    statement, or if the value could fault where the test does not hold: what it loads must be loaded already.
    """
    inner = statements(node.child_by_field_name("consequence")) if node.type == "if_statement" else ()
    test = node.child_by_field_name("condition")
    if len(inner) != 1 or test is None or node.child_by_field_name("alternative") is not None:
        return None
    added = real(inner[0].named_children)[0] if inner[0].type == "expression_statement" else None
    sign = text(added.child_by_field_name("operator")) if added is not None else ""
    if added is None or added.type != "assignment_expression" or sign not in ("+=", "-="):
        return None
    target, value = added.child_by_field_name("left"), added.child_by_field_name("right")
    if target is None or value is None or target.type != "identifier" or not calls(value) - CHEAP:
        return None
    loads = [n for n in walk(value) if n.type in ("subscript_expression", "pointer_expression")]
    faults = [n for n in walk(value) if text(n.child_by_field_name("operator")) in ("/", "%")]
    if faults or any((n.start_byte, n.end_byte) not in taken for n in loads):
        return None
    term = source.unique("term")
    total = text(target)
    return (
        f"const decltype({total}) {term} = {replaced(value, taken)};\n"
        f"{total} {sign} {replaced(test, taken)} ? {term} : 0;"
    )


def replaced(node: Node, taken: dict[tuple[int, int], str]) -> str:
    """Return a node's code with some nodes below it replaced."""
    edits = [
        (start - node.start_byte, end - node.start_byte, new)
        for (start, end), new in taken.items()
        if node.start_byte <= start and end <= node.end_byte
    ]
    return edited(text(node), edits)
