"""32-bit indices where the sizes allow them: 64-bit division and multiplication take many instructions."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import indented
from ..loops import parallel_loops
from ..magnitude import Magnitude
from ..rule import Rule, Setting
from ..syntax import Kernel, Launch, Source, edited, id_of, text, walk

WIDE = r"\b(?:unsigned long long|long long|size_t|int64_t|uint64_t)\b"
_LITERAL = re.compile(r"\d+[uU]?(?:ll|LL)")
_FLOATING = r"float|double|bfloat|half|bool|auto"
_ARITHMETIC = ("+", "-", "*", "/", "%", "<<", ">>")


class NarrowIndex(Rule):
    """Index arithmetic in 64 bits: do it in 32 where the launch's sizes are small enough, as nearly always."""

    name: ClassVar[str] = "narrow_index"
    answers: ClassVar[tuple[str, ...]] = ("instruction_bound", "stall_mix")
    worth: ClassVar[float] = 1.3
    metric: ClassVar[str] = "sm_throughput_pct"
    why: ClassVar[str] = (
        "places are computed in 64 bits, where one division costs about a hundred instructions: make the index type a "
        "template parameter, and launch the 32-bit form whenever the sizes fit"
    )
    effect: ClassVar[str] = "fewer instructions and registers for each element"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Rewrite every kernel whose largest index the host can bound."""
        edits: list[tuple[int, int, str]] = []
        for kernel in source.kernels:
            edits += self._kernel(source, kernel) or []
        return edited(source.text, edits)

    def _kernel(self, source: Source, kernel: Kernel) -> list[tuple[int, int, str]] | None:
        if kernel.template is not None or not kernel.launches or not _is_dear(kernel):
            return None
        index = source.unique("Index")
        edits = []
        scalars = {p.name for p in kernel.parameters if not p.pointer and re.fullmatch(WIDE, p.type)} - kernel.assigned
        for launch in kernel.launches:
            bounds = _bounds(source, kernel, launch)
            whole = text(launch.statement).rstrip("; ") == text(launch.node)
            if not bounds or not whole:
                return None
            bounds |= {f"(double)({launch.argument(kernel, name)})" for name in scalars}
            rest = text(launch.node)[len(text(launch.function)) :]
            fits = " &&\n    ".join(f"{b} < 2147483648.0" for b in sorted(bounds))
            code = f"if ({fits}) {{\n    {kernel.name}<int>{rest};\n}} else {{\n    {kernel.name}<long long>{rest};\n}}"
            edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(code, 4).lstrip()))
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <typename {index}>\n"))
        for node in walk(kernel.body):
            if node.type == "identifier" and text(node) in scalars:
                edits.append((node.start_byte, node.end_byte, f"({index}){text(node)}"))
            elif _is_wide_type(node):
                edits.append((node.start_byte, node.end_byte, index))
            elif node.type == "number_literal" and _LITERAL.fullmatch(text(node)):
                edits.append((node.start_byte, node.end_byte, re.sub(r"[uUlL]+$", "", text(node))))
        return edits


def _is_wide_type(node: Node) -> bool:
    """Return whether a node is the 64-bit integer type of a declaration or of a cast, but not of an address."""
    if node.type not in ("sized_type_specifier", "primitive_type", "type_identifier"):
        return False
    up = node.parent
    while up is not None and up.type in ("type_descriptor", "qualified_identifier"):
        up = up.parent
    return bool(re.fullmatch(WIDE, text(node))) and up is not None and up.type in ("declaration", "cast_expression")


def _is_dear(kernel: Kernel) -> bool:
    """Return whether a kernel divides whole numbers by no constant, or multiplies them in a loop; in 64 bits.

    A loop over the grid is divided by its step, too, where the compiler unrolls it.
    """
    if not any(_is_wide_type(n) for n in walk(kernel.body)):
        return False
    if any(
        loop.form == "grid" and not _rolled(loop.node) and re.match(WIDE, loop.type) for loop in parallel_loops(kernel)
    ):
        return True
    for node in walk(kernel.body):
        operator = text(node.child_by_field_name("operator")) if node.type == "binary_expression" else ""
        right = node.child_by_field_name("right")
        if operator not in ("/", "%", "*") or right is None or right.type == "number_literal":
            continue
        of_the_grid = "gridDim" in text(node) or "blockDim" in text(node)
        if _integer(kernel, node) and not of_the_grid and (operator != "*" or _in_loop(node)):
            return True
    return False


def _rolled(loop: Node) -> bool:
    before = loop.prev_named_sibling
    return before is not None and text(before).strip() == "#pragma unroll 1"


def _in_loop(node: Node) -> bool:
    up = node.parent
    while up is not None and up.type != "for_statement":
        up = up.parent
    return up is not None


def _integer(kernel: Kernel, node: Node) -> bool:
    """Return whether an expression is made of whole numbers alone, be they loaded."""
    indices = {id_of(n) for a in kernel.accesses_in(node) for n in walk(a.node)}
    roots = [kernel.parameter(a.root) for a in kernel.accesses_in(node) if id_of(a.node) != id_of(node)]
    if any(p is None or re.search(_FLOATING, p.type) for p in roots):
        return False
    for n in walk(node):
        if id_of(n) in indices:
            continue
        if n.type == "number_literal" and re.search(r"[.eEfF]", text(n)) and not text(n).startswith("0x"):
            return False
        if n.type in ("call_expression", "string_literal", "subscript_expression"):
            return False
        if n.type == "cast_expression" and re.search(r"float|double", text(n.child_by_field_name("type"))):
            return False
        if n.type == "identifier":
            parameter = kernel.parameter(text(n))
            kind = parameter.type if parameter is not None else kernel.declared.get(text(n), "")
            if re.search(_FLOATING, kind) or (parameter is not None and parameter.pointer):
                return False
    return True


def _bounds(source: Source, kernel: Kernel, launch: Launch) -> set[str] | None:
    """Return bounds of all index arithmetic in a kernel, as host expressions; None if some can't be told."""
    magnitude = Magnitude(source, kernel, launch)
    found: set[str] = set()
    for node in walk(kernel.body):
        arithmetic = node.type == "binary_expression" and text(node.child_by_field_name("operator")) in _ARITHMETIC
        up = node.parent
        while up is not None and up.type in ("parenthesized_expression", "cast_expression"):
            up = up.parent
        inner = up is not None and up.type == "binary_expression" and _integer(kernel, up)
        inner = inner and text(up.child_by_field_name("operator")) in _ARITHMETIC if up is not None else False
        counted = arithmetic and not inner and _integer(kernel, node)
        pointers = node.type == "binary_expression" and not _integer(kernel, node) and _points(kernel, node)
        declared = node.type == "init_declarator" and _wide_declaration(node)
        if pointers:
            continue
        declared = declared or (node.type == "cast_expression" and _wide_cast(node))
        if counted or declared:
            bound = magnitude.of(node.child_by_field_name("value") if declared else node)
            if bound is None:
                return None
            found.add(bound)
    # A loop's variable goes one step past its bound.
    for name in magnitude.loops:
        bound = magnitude.of(_named(kernel, name))
        if bound is None:
            return None
        found.add(bound)
    return found | set(magnitude.needed)


def _points(kernel: Kernel, node: Node) -> bool:
    return any(
        n.type == "identifier" and (p := kernel.parameter(text(n))) is not None and p.pointer for n in walk(node)
    )


def _wide_cast(node: Node) -> bool:
    return re.fullmatch(WIDE, text(node.child_by_field_name("type"))) is not None


def _wide_declaration(node: Node) -> bool:
    kind = node.parent.child_by_field_name("type") if node.parent is not None else None
    return kind is not None and re.fullmatch(WIDE, text(kind)) is not None


def _named(kernel: Kernel, name: str) -> Node | None:
    return next((n for n in walk(kernel.body) if n.type == "identifier" and text(n) == name), None)
