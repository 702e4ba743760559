"""Loops that share work between threads: which there are, and whether their iterations are independent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from tree_sitter import Node

from .syntax import (
    Kernel,
    Poly,
    assigned_names,
    calls,
    coefficient,
    declared_name,
    multiply,
    polynomial,
    shows,
    squeezed,
    statements,
    text,
    walk,
    without,
)

THREAD: Poly = {("threadIdx.x",): 1}
GRID_STEP: Poly = {("blockDim.x", "gridDim.x"): 1}
BLOCK_STEP: Poly = {("blockDim.x",): 1}
SLAB: Poly = {("blockDim.x", "blockIdx.y"): 1, ("threadIdx.x",): 1}
SLAB_STEP: Poly = {("blockDim.x", "gridDim.y"): 1}
GLOBAL: Poly = {("blockDim.x", "blockIdx.x"): 1, ("threadIdx.x",): 1}


@dataclass(frozen=True)
class ParallelLoop:
    """`for every i in [0, bound)`, spread over threads along x.

    `form` says how: `block` (i from threadIdx.x in steps of blockDim.x), `slab` (the same, shared by the blocks along
    y), `grid` (from the global index in steps of the whole grid), `guard` (one i per thread, behind `if (i < bound)`).
    """

    kernel: Kernel = field(repr=False)
    form: Literal["block", "slab", "grid", "guard"]
    variable: str
    type: str
    bound: Node = field(repr=False)
    node: Node = field(repr=False)
    """The `for`, or the guarding `if`."""
    body: tuple[Node, ...] = field(repr=False)
    declaration: Node | None = field(default=None, repr=False)
    """Guard form: the declaration of i."""
    top: bool = True
    """It is a statement of the kernel's own body."""

    @property
    def body_text(self) -> str:
        """The statements of the body as written."""
        return "\n".join(text(n) for n in self.body)

    @property
    def inside(self) -> tuple[Node, ...]:
        """All nodes of the body."""
        return tuple(n for statement in self.body for n in walk(statement))

    @property
    def assigned(self) -> set[str]:
        """Names that the body changes."""
        return set[str]().union(*(assigned_names(n) for n in self.body))

    @property
    def declared(self) -> set[str]:
        """Names that the body declares."""
        found = set()
        for node in self.inside:
            if node.type == "declaration":
                found |= {declared_name(c) for c in node.children_by_field_name("declarator")}
        return found

    @property
    def carried(self) -> set[str]:
        """Scalars that one iteration hands to the next."""
        return self.assigned - self.declared - {self.variable}

    def leaves(self, *kinds: str) -> bool:
        """Return whether the body holds statements of these kinds."""
        return any(n.type in kinds for n in self.inside)

    def accesses(self) -> list[tuple[str, Poly, Node, bool, bool]]:
        """Return the traced subscripts of the body: root, index, node, written, read."""
        return [
            (a.root, a.index, a.node, a.written, a.read)
            for n in self.body
            for a in self.kernel.accesses_in(n, self.variable)
        ]


def global_index(poly: Poly, axis: str = "x") -> str | None:
    """Return what stands for the block's size in `blockIdx.axis * size + threadIdx.axis`, or None if it isn't that."""
    if poly.get((f"threadIdx.{axis}",)) != 1 or len(poly) != 2:
        return None
    for key, value in poly.items():
        if value == 1 and len(key) == 2 and f"blockIdx.{axis}" in key:
            return next((a for a in key if a != f"blockIdx.{axis}"), None)
    if poly.get((f"blockIdx.{axis}",), 0) > 1:
        return str(poly[(f"blockIdx.{axis}",)])
    return None


def for_parts(node: Node) -> tuple[str, str, Node, str, Node, Poly] | None:
    """Return variable, type, start, comparison, bound and step of a counting `for`; None for any other loop."""
    start, condition, update = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
    if start is None or condition is None or update is None or start.type != "declaration":
        return None
    declarators = start.children_by_field_name("declarator")
    if len(declarators) != 1 or condition.type != "binary_expression":
        return None
    name = declared_name(declarators[0])
    value = declarators[0].child_by_field_name("value")
    left, bound = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    sign = text(condition.child_by_field_name("operator"))
    if value is None or bound is None or text(left) != name or sign not in ("<", "<="):
        return None
    step: Poly | None = None
    if update.type == "update_expression" and "++" in text(update):
        step = {(): 1}
    elif update.type == "assignment_expression" and re.match(rf"{re.escape(name)}\s*\+=", text(update)):
        step = polynomial(update.child_by_field_name("right"), {})
    return (name, text(start.child_by_field_name("type")), value, sign, bound, step) if step else None


@lru_cache(maxsize=256)
def parallel_loops(kernel: Kernel) -> tuple[ParallelLoop, ...]:
    """Return the loops of a kernel whose iterations are dealt out to threads, outermost first."""
    found: list[ParallelLoop] = []
    if guarded := _guarded(kernel):
        found.append(guarded)
    for node in walk(kernel.body):
        if node.type != "for_statement" or (parts := for_parts(node)) is None:
            continue
        name, kind, value, sign, bound, step = parts
        start = kernel.poly(value)
        step = _resolved(step, kernel)
        body = statements(node.child_by_field_name("body"))
        if sign != "<" or name in set().union(*(assigned_names(n) for n in body), set()):
            continue
        top = any(n.start_byte == node.start_byte for n in kernel.statements)
        size = global_index(start)
        if start == THREAD and step == BLOCK_STEP:
            found.append(ParallelLoop(kernel, "block", name, kind, bound, node, body, top=top))
        elif start == SLAB and step == SLAB_STEP:
            found.append(ParallelLoop(kernel, "slab", name, kind, bound, node, body, top=top))
        elif size is not None and step in (GRID_STEP, multiply({(size,): 1}, {("gridDim.x",): 1})):
            found.append(ParallelLoop(kernel, "grid", name, kind, bound, node, body, top=top))
    return tuple(found)


def _resolved(step: Poly, kernel: Kernel) -> Poly:
    """Replace constant locals in a step."""
    total: Poly = {}
    for key, value in step.items():
        term: Poly = {(): value}
        for atom in key:
            inner = kernel.locals.get(atom)
            term = multiply(term, kernel.poly(inner) if inner is not None else {(atom,): 1})
        for k, v in term.items():
            total[k] = total.get(k, 0) + v
    return total


def _guarded(kernel: Kernel) -> ParallelLoop | None:
    """Recognise `i = global index; if (i >= n) return; …` and `i = global index; if (i < n) { … }` at the end."""
    index: tuple[str, str, Node] | None = None
    listed = kernel.statements
    for position, node in enumerate(listed):
        if node.type == "declaration":
            declarators = node.children_by_field_name("declarator")
            value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
            if value is not None and index is None and global_index(kernel.poly(value)) is not None:
                index = declared_name(declarators[0]), text(node.child_by_field_name("type")), node
            continue
        if index is None or node.type != "if_statement" or index[0] in kernel.assigned:
            return None
        name, kind, declaration = index
        condition = node.child_by_field_name("condition")
        test = condition.child_by_field_name("value") if condition is not None else None
        if test is None or test.type != "binary_expression" or node.child_by_field_name("alternative") is not None:
            return None
        if text(test.child_by_field_name("left")) != name:
            return None
        bound = test.child_by_field_name("right")
        sign = text(test.child_by_field_name("operator"))
        inner = statements(node.child_by_field_name("consequence"))
        assert bound is not None
        if sign == ">=" and [n.type for n in inner] == ["return_statement"]:
            return ParallelLoop(kernel, "guard", name, kind, bound, node, listed[position + 1 :], declaration)
        if sign == "<" and position == len(listed) - 1:
            return ParallelLoop(kernel, "guard", name, kind, bound, node, inner, declaration)
        return None
    return None


def independent(loop: ParallelLoop) -> bool:
    """Return whether iterations can run in any order, on any thread, once each.

    Everything written is written at places that belong to one iteration alone, and nothing is carried over.
    """
    if loop.carried or loop.kernel.cooperates or loop.leaves("break_statement", "goto_statement", "asm_statement"):
        return False
    return disjoint_writes(loop) and effects_known(loop)


def disjoint_writes(loop: ParallelLoop) -> bool:
    """Return whether each iteration writes, and reads of what is written, at places of its own only."""
    kernel = loop.kernel
    inner_bounds: dict[str, Poly] = {}
    for node in loop.inside:
        if node.type == "for_statement" and (parts := for_parts(node)) is not None and parts[3] == "<":
            inner_bounds[parts[0]] = kernel.poly(parts[4])
    rests: dict[str, list[tuple[Poly, Poly]]] = {}
    for root, index, *_ in loop.accesses():
        if root in kernel.written_roots:
            rests.setdefault(root, []).append((coefficient(index, loop.variable), without(index, loop.variable)))
    if not kernel.written_roots <= set(rests):
        return False
    for places in rests.values():
        factors = [factor for factor, _ in places]
        if not factors[0] or any(f != factors[0] for f in factors) or any(shows(f, loop.variable) for f in factors):
            return False
        for factor, rest in places:
            if shows(rest, loop.variable):
                return False
            if set(factor) == {()} and abs(factor[()]) == 1:
                if rest != places[0][1]:
                    return False
                continue
            # i·S + r is a place of iteration i alone while 0 <= r < S.
            inner = [name for name, bound in inner_bounds.items() if rest == {(name,): 1} and bound == factor]
            fixed = set(factor) == {()} and set(rest) <= {()} and 0 <= rest.get((), 0) < abs(factor[()])
            if not inner and not fixed:
                return False
    return True


def effects_known(loop: ParallelLoop, *, adding: bool = False) -> bool:
    """Return whether all that the body calls is known to have no effect; `adding` allows `atomicAdd(…);` as well."""
    kernel = loop.kernel
    values = {p.name for p in kernel.parameters if not p.pointer} | set(kernel.locals)
    if adding:
        values.add("atomicAdd")
    for name in set().union(*(calls(n) for n in loop.body), set()):
        if not kernel.source.pure(name) and name not in values:
            return False
    code = [squeezed(n) for n in loop.body]
    if adding:
        code = [re.sub(r"(?<=[;{})])atomicAdd\(&", "(", f";{c}") for c in code]
    return not any(re.search(r"[=(,]&(?!&)|=atomicAdd|\batomicAdd\(.*\)[^;]*atomicAdd", c) for c in code)
