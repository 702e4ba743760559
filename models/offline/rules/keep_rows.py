"""Rows that several loops go over: keep them in registers from the first loop to the last."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import VECTOR, dedented, fresh, helper_name, indented, polynomial_text, with_helper
from ..loops import ParallelLoop, effects_known, for_parts, parallel_loops
from ..rule import KernelRule, Setting, distinct_arguments
from ..syntax import (
    SIZES,
    Kernel,
    Poly,
    assigned_names,
    coefficient,
    declared_name,
    edited,
    id_of,
    real,
    shows,
    text,
    walk,
    within,
    without,
)
from .vectorize import address_taken, bounded, few_threads, out_of_range_perhaps, replaced

_UNIFORM = ("blockIdx.x", "gridDim.x", "blockDim.x")


@dataclass
class Kept:
    """The elements of one array that the loops touch."""

    root: str
    type: str
    offset: Poly
    nodes: list[Node] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    loaded: bool = False
    """Its old values are used."""
    last_store: int = -1
    """The last loop that writes it; -1 if none does."""


class KeepRows(KernelRule):
    """Maximum, sum, division: three loops over one row. A row that fits into a block's registers is read once."""

    name: ClassVar[str] = "keep_rows"
    answers: ClassVar[tuple[str, ...]] = ("redundant_loads", "stall_mix")
    worth: ClassVar[float] = 1.405
    metric: ClassVar[str] = "global_load_requests"
    why: ClassVar[str] = (
        "several loops go over the same row, and each waits for memory anew: a block of 1024 threads has room for "
        "16 thousand elements in its registers, so that a row is read once and written once"
    )
    effect: ClassVar[str] = "one wait for memory in place of one per loop"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Rewrite the first group of loops that go over the same elements."""
        source = kernel.source
        if "volatile" in text(kernel.node) or not kernel.launches or not distinct_arguments(kernel):
            return None
        if kernel.uses("threadIdx.y", "threadIdx.z", "__shared__", "return"):
            return None
        for loops in _groups(kernel):
            kept = _kept(kernel, loops)
            if kept is None or not any(len(k.loops) > 1 for k in kept):
                continue
            code, start, end = self._code(kernel, loops, kept, helper_name(source, "Vector", VECTOR))
            edits = [(start, end, code)]
            if not all(few_threads(source, launch) for launch in kernel.launches):
                edits += bounded(kernel)
            return with_helper(edited(source.text, edits), helper_name(source, "Vector", VECTOR), VECTOR)
        return None

    @staticmethod
    def _code(kernel: Kernel, loops: list[ParallelLoop], kept: list[Kept], vector: str) -> tuple[str, int, int]:
        count = 16 // min(SIZES[k.type] for k in kept)
        turns = 4 if sum(SIZES[k.type] * count for k in kept) <= 40 else 2
        bound = text(loops[0].bound)
        pointers = {id(k): f"{k.root} + {polynomial_text(k.offset)}" if k.offset else k.root for k in kept}
        arrays = {id(k): f"@kept_{number}" for number, k in enumerate(kept)}

        def each(lines: list[str]) -> str:
            body = [
                "const long long @place = threadIdx.x + @turn * (long long)blockDim.x;",
                "if (@place < @whole) {",
                *[indented(line, 4) for line in lines],
                "}",
            ]
            return "\n".join(
                [
                    "#pragma unroll",
                    f"for (int @turn = 0; @turn < {turns}; ++@turn) {{",
                    *[indented(line, 4) for line in body],
                    "}",
                ]
            )

        def access(k: Kept) -> str:
            constant = "" if k.last_store >= 0 else "const "
            return f"reinterpret_cast<{constant}{vector}<{k.type}, {count}>*>({pointers[id(k)]})[@place]"

        lines = [f"{vector}<{k.type}, {count}> {arrays[id(k)]}[{turns}] = {{}};" for k in kept]
        loads = [f"{arrays[id(k)]}[@turn] = {access(k)};" for k in kept if k.loaded]
        lines.append(each(loads))
        place = loops[0].node.parent
        assert place is not None
        region = [n for n in real(place.named_children) if n.start_byte >= loops[0].node.start_byte]
        for node in region:
            number = next((i for i, item in enumerate(loops) if id_of(item.node) == id_of(node)), -1)
            if number < 0:
                lines.append(dedented(text(node)))
                continue
            loop = loops[number]
            taken = {id_of(n): f"{arrays[id(k)]}[@turn].at[@item]" for k in kept for n in k.nodes}
            inner = "\n".join(dedented(replaced(n, taken)) for n in loop.body)
            index = f"const long long {loop.variable} = @place * {count} + @item;"
            named = re.search(rf"\b{re.escape(loop.variable)}\b", inner) is not None
            use = [
                "#pragma unroll",
                f"for (int @item = 0; @item < {count}; ++@item) {{",
                *([f"    {index}"] if named else []),
                indented(inner, 4),
                "}",
                *[f"{access(k)} = {arrays[id(k)]}[@turn];" for k in kept if k.last_store == number],
            ]
            lines.append(each(use))
        aligned = " | ".join(f"reinterpret_cast<size_t>({p})" for p in pointers.values())
        total = f"({bound})" if re.search(r"\W", bound) else bound
        fast = "\n".join(lines)
        plain = "\n".join(dedented(text(n)) for n in region)
        code = f"""\
const long long @whole = {total} / {count};
// A row that fits stays in registers. The test is the same for the whole block.
if (({aligned}) % 16 == 0 && {total} % {count} == 0 && @whole <= {turns} * (long long)blockDim.x) {{
{indented(fast, 4)}
}} else {{
    __syncthreads();
{indented(plain, 4)}
}}"""
        column = loops[0].node.start_point.column
        written = indented(fresh(kernel.source, code), column).lstrip()
        return written, region[0].start_byte, region[-1].end_byte


def _groups(kernel: Kernel) -> list[list[ParallelLoop]]:
    """Return runs of loops over one range that are statements of one block of code, but not of an `else`."""
    found: dict[tuple[tuple[int, int], str], list[ParallelLoop]] = {}
    parameters = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    for loop in parallel_loops(kernel):
        place = loop.node.parent
        bound = text(loop.bound)
        if place is None or place.type != "compound_statement" or (place.parent and place.parent.type == "else_clause"):
            continue
        if loop.form == "block" and bound in parameters:
            found.setdefault((id_of(place), bound), []).append(loop)
    return [loops for loops in found.values() if len(loops) > 1]


def _kept(kernel: Kernel, loops: list[ParallelLoop]) -> list[Kept] | None:
    """Return what the loops touch, if each element belongs to one thread throughout; None if one stands in the way."""
    place = loops[0].node.parent
    assert place is not None
    region = [n for n in real(place.named_children) if n.start_byte >= loops[0].node.start_byte]
    changed = set().union(*(assigned_names(n) for n in region))
    changed |= {
        declared_name(c)
        for n in region
        for d in walk(n)
        if d.type == "declaration"
        for c in d.children_by_field_name("declarator")
    }
    found: dict[tuple[str, str], Kept] = {}
    stops = ("return_statement", "break_statement", "continue_statement", "goto_statement", "for_statement",
             "while_statement", "asm_statement")  # fmt: skip
    for number, loop in enumerate(loops):
        if loop.leaves(*stops) or not effects_known(loop):
            return None
        top = {id_of(n) for n in loop.body}
        for root, index, node, written, read in sorted(loop.accesses(), key=lambda a: a[2].start_byte):
            parameter = kernel.parameter(root)
            factor, offset = coefficient(index, loop.variable), without(index, loop.variable)
            if parameter is None:
                return None
            if not factor and not shows(index, loop.variable) and root not in kernel.written_roots:
                continue
            straight = factor == {(): 1} and not shows(offset, loop.variable)
            fixed = straight and not any(shows(offset, name) for name in changed) and _uniform(kernel, offset)
            if not fixed or SIZES.get(parameter.type, 0) not in (2, 4) or address_taken(node):
                return None
            if out_of_range_perhaps(node, loop):
                return None
            statement: Node = node
            while statement.parent is not None and statement.type != "expression_statement":
                statement = statement.parent
            if written and id_of(statement) not in top:
                return None
            key = root, polynomial_text(offset)
            kept = found.setdefault(key, Kept(root, parameter.type, offset))
            # In `y[i] = … y[i] …` the right side is read first.
            first = not any(within(n, one.node) for one in loops[:number] for n in kept.nodes) and kept.last_store < 0
            kept.loaded |= read and first
            kept.nodes.append(node)
            kept.loops.add(number)
            if written:
                kept.loaded |= first and _used_in(statement, node, kernel, root)
                kept.last_store = number
    touched = [k for k in found.values() if k.root in kernel.written_roots]
    for k in touched:
        inside = all(any(id_of(a.node) == id_of(n) for n in k.nodes) for a in kernel.accesses if a.root == k.root)
        if not inside or sum(1 for other in found.values() if other.root == k.root) != 1 or k.last_store < 0:
            return None
    return list(found.values()) if found and sum(SIZES[k.type] for k in found.values()) <= 16 else None


def _used_in(statement: Node, target: Node, kernel: Kernel, root: str) -> bool:
    """Return whether a statement that writes an element reads it, too."""
    others = [a for a in kernel.accesses if a.root == root and within(a.node, statement)]
    return any(id_of(a.node) != id_of(target) or a.read for a in others)


def _uniform(kernel: Kernel, offset: Poly) -> bool:
    """Return whether an offset is the same for all threads of a block."""
    rows: dict[str, list[tuple[Poly, Poly]]] = {}
    for node in walk(kernel.body):
        parts = for_parts(node) if node.type == "for_statement" else None
        if parts is not None:
            rows.setdefault(parts[0], []).append((kernel.poly(parts[2]), parts[5]))
    scalars = {p.name for p in kernel.parameters if not p.pointer} - kernel.assigned
    for atom in {a for key in offset for a in key}:
        if atom in scalars or atom in _UNIFORM:
            continue
        known = rows.get(atom, [])
        inside = {a for start, step in known for poly in (start, step) for key in poly for a in key}
        if not known or not inside <= scalars | set(_UNIFORM):
            return False
    return True
