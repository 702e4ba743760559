"""Tiles of items that lie one behind the other: a thread each for their scalars, all threads for their elements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from .emit import dedented, indented
from .loops import ParallelLoop
from .rules.vectorize import Stream, Vectorize
from .syntax import SIZES, Kernel, declared_name, edited, multiply, squeezed, text, walk
from .values import declared

THREADS = 256
LANES = 8
"""Threads of an item at least: so no more than `THREADS / LANES` items are side by side."""
TURNS = 2
"""Items behind each other: their loads are on their way together."""

PACKED = """\
// `Count` elements that are loaded and stored together.
template <typename Element, int Count>
struct alignas(sizeof(Element) * Count < 16 ? sizeof(Element) * Count : 16) {name} {{
    Element at[Count];
}};
"""

LANES_FOR = f"""\
// Threads that share `length` places: a power of two, from {LANES} to {THREADS}.
static unsigned {{name}}(long long length) {{{{
    unsigned lanes = {LANES};
    while (lanes < length && lanes < {THREADS}) lanes *= 2;
    return lanes;
}}}}
"""


@dataclass(frozen=True)
class ItemTile:
    """A kernel's body for several items in a block, with template parameters `@width` and `@turns`."""

    code: str = field(repr=False)
    width: int
    """Elements in 16 bytes of the smallest type."""
    arrays: tuple[str, ...]
    """What must be aligned for that width."""


def item_tile(
    kernel: Kernel, loop: ParallelLoop, shared: list[Node], alone: Node, barrier: Node, packed: str, load_once: str
) -> ItemTile | None:
    """Return the body, if the items' elements lie one behind the other and are gone through one by one."""
    streams = Vectorize().streams(kernel, loop)
    one_by_one = multiply({("blockIdx.x",): 1}, kernel.poly(loop.bound))
    if not streams or any(stream.offset != one_by_one for stream in streams):
        return None
    width = 16 // min(SIZES[stream.type] for stream in streams)
    if any(SIZES[stream.type] * width > 32 for stream in streams):
        return None
    rest = [n for n in kernel.statements if n.id not in {alone.id, barrier.id, loop.node.id, *(s.id for s in shared)}]
    if any(n.type != "declaration" or n.start_byte > loop.node.start_byte for n in rest):
        return None
    scalars = [(text(d.child_by_field_name("type")), n) for d in shared for n in sorted(declared(d))]
    if len(scalars) * THREADS // LANES * TURNS * 8 > 16384:
        return None
    block = alone.child_by_field_name("consequence")
    assert block is not None
    own = "".join(f"{kind} {name};\n" for kind, name in scalars) + _of_item(block)
    kept = "".join(f"@{name}_of[@mine] = {name};\n" for _, name in scalars)
    first = f"{_needed(rest, own)}{own}\n{kept}".rstrip()
    body = "\n".join(_of_item(n, streams) for n in loop.body)
    given = "".join(f"const {kind} {name} = @{name}_of[@row];\n" for kind, name in scalars)
    index = f"const {loop.type} {loop.variable} = @place * @width + @at;\n"
    index = index if re.search(rf"\b{loop.variable}\b", body) else ""
    local = _needed(rest, body) + given
    item = "const unsigned @item = @first_item + @row;\n" if "@item" in local + body else ""
    local = (item + local).rstrip()
    loads = "\n".join(f"{_held(s)}[@turn] = {_loaded(s, packed, load_once)};" for s in streams if s.loaded)
    stores = "\n".join(f"{_place(s, packed)} = {_held(s)}[@turn];" for s in streams if s.stored)
    arrays = "\n".join(f"{packed}<{s.type}, @width> {_held(s)}[@turns];" for s in streams)
    held = "\n".join(f"__shared__ {kind} @{name}_of[{THREADS // LANES} * @turns];" for kind, name in scalars)
    each = """\
#pragma unroll
for (int @turn = 0; @turn < @turns; ++@turn) {
    const unsigned @row = threadIdx.y + @turn * blockDim.y;
    if (@row < @number && @place < @whole) {"""
    code = f"""\
// Several items: a thread each computes the scalars of one while the first elements are on their way.
{held}
const unsigned @first_item = blockIdx.x * (blockDim.y * @turns);
const unsigned @number = @items - @first_item < blockDim.y * @turns ? @items - @first_item : blockDim.y * @turns;
const long long @whole = ({text(loop.bound)}) / @width;
for (long long @start = 0; @start == 0 || @start < @whole; @start += blockDim.x) {{
    const long long @place = @start + threadIdx.x;
{indented(arrays, 4)}
{indented(each, 4)}
{indented(loads, 12)}
        }}
    }}
    if (@start == 0) {{
        const unsigned @mine = threadIdx.y * blockDim.x + threadIdx.x;
        if (@mine < @number) {{
            const unsigned @item = @first_item + @mine;
{indented(first, 12)}
        }}
        __syncthreads();
    }}
{indented(each, 4)}
{indented(local, 12)}
            #pragma unroll
            for (int @at = 0; @at < @width; ++@at) {{
{indented(index + body, 16)}
            }}
{indented(stores, 12)}
        }}
    }}
}}"""
    return ItemTile(code, width, tuple(dict.fromkeys(stream.root for stream in streams)))


def _of_item(node: Node, streams: list[Stream] | None = None) -> str:
    """Return a statement's code for the item `@item`, with elements of the streams taken from what is held."""
    edits = [
        (n.start_byte - node.start_byte, n.end_byte - node.start_byte, "@item")
        for n in walk(node)
        if n.type == "field_expression" and squeezed(n) == "blockIdx.x"
    ]
    places = [(n.start_byte, n.end_byte, s) for s in streams or [] for n in s.nodes]
    held = [
        (start - node.start_byte, end - node.start_byte, f"{_held(s)}[@turn].at[@at]")
        for start, end, s in places
        if node.start_byte <= start and end <= node.end_byte
    ]
    edits = [e for e in edits if not any(h[0] <= e[0] and e[1] <= h[1] for h in held)]
    return dedented(edited(text(node), [*edits, *held]))


def _needed(declarations: list[Node], code: str) -> str:
    """Return the declarations whose names show in code, and those that these need."""
    found = ""
    for node in reversed(declarations):
        names = [declared_name(c) for c in node.children_by_field_name("declarator")]
        if any(re.search(rf"\b{re.escape(name)}\b", found + code) for name in names):
            found = f"{_of_item(node)}\n{found}"
    return found


def _held(stream: Stream) -> str:
    return f"@{stream.root}_held"


def _place(stream: Stream, packed: str) -> str:
    constant = "" if stream.stored else "const "
    kind = f"{constant}{packed}<{stream.type}, @width>"
    return f"reinterpret_cast<{kind}*>({stream.root})[(long long)(@first_item + @row) * @whole + @place]"


def _loaded(stream: Stream, packed: str, load_once: str) -> str:
    place = _place(stream, packed)
    return place if stream.stored else f"{load_once}(&{place})"
