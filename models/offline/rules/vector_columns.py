"""Several neighbouring columns per thread, with wide loads and stores, also where the body has loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import dedented, fresh, helper_name, indented, on_host, with_helper
from ..rule import KernelRule, Setting, distinct_arguments
from ..space import Axis, Space, index_space
from ..spelling import plain
from ..syntax import (
    SIZES,
    Access,
    Kernel,
    assigned_names,
    calls,
    coefficient,
    declared_name,
    edited,
    shows,
    squeezed,
    statements,
    text,
    walk,
    without,
)
from ..tuning import tunable
from ..unflatten import unflattened
from ..values import loop_head
from .tile_product import TILES

LANES = 32
ROWS = (8, 4, 16, 2)
"""Rows of a block whose rows are as long as a warp (more of shorter ones), the first to be tried first."""
THREADS = 1024
"""Threads that a multiprocessor should have before one takes several columns."""

LANES_FOR = """\
// Neighbouring threads for `items`: the power of two that covers them, at most a warp.
static int {name}(long long items) {{
    int lanes = 1;
    while (lanes < 32 && lanes < items) lanes *= 2;
    return lanes;
}}
"""

COLUMNS = """\
// `Count` neighbouring elements, loaded and stored together.
template <typename Element, int Count>
struct alignas(sizeof(Element) * Count < 16 ? sizeof(Element) * Count : 16) {name} {{
    Element at[Count];
}};
"""


ADD_COLUMNS = """\
// Add to neighbouring elements at once: four by four where the GPU can (16-byte aligned), else one by one.
template <int Count>
static __device__ __forceinline__ void {name}(float* target, const float (&terms)[Count]) {{
#if __CUDA_ARCH__ >= 900
    if constexpr (Count % 4 == 0) {{
        #pragma unroll
        for (int v = 0; v < Count; v += 4) {{
            atomicAdd(reinterpret_cast<float4*>(target + v),
                      make_float4(terms[v], terms[v + 1], terms[v + 2], terms[v + 3]));
        }}
    }} else
#endif
    {{
        #pragma unroll
        for (int v = 0; v < Count; ++v) atomicAdd(target + v, terms[v]);
    }}
}}
"""


class _NotSimple(Exception):
    """The body holds something that can't be done for several columns at once."""


class VectorColumns(KernelRule):
    """Each thread does the same for one column that its neighbour does for the next: do several at once."""

    name: ClassVar[str] = "vector_columns"
    answers: ClassVar[tuple[str, ...]] = ("uncoalesced_access", "narrow_loads", "stall_mix", "excess_traffic")
    worth: ClassVar[float] = 6.2
    metric: ClassVar[str] = "global_load_requests"
    why: ClassVar[str] = (
        "what does not depend on the column (indices, weights, masks, loop overhead) is done again for each one: give "
        "a thread as many neighbouring columns as one 16-byte access holds, and a warp a piece of one row"
    )
    effect: ClassVar[str] = "a fraction of the loads and of the loop overhead for each element"
    steps: ClassVar[int] = 2

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def forms(self, kernel: Kernel) -> tuple[Kernel | None, ...]:
        """Read a kernel over one long index as one over rows and columns, too."""
        return kernel, unflattened(kernel)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Take several neighbouring columns in one thread."""
        source = kernel.source
        space = index_space(kernel)
        if space is None or kernel.meets or kernel.template is not None or not distinct_arguments(kernel):
            return None
        if len(space.axes) > 2 or "volatile" in text(kernel.body):
            return None
        if any(kernel.uses(f"threadIdx.{a}") for a in "xyz" if a not in [axis.axis for axis in space.axes]):
            return None
        columns = [c for axis in space.axes if (c := _columns(kernel, space, axis)) is not None]
        if len(columns) != 1:
            return None
        found = columns[0]
        if found.col.axis == "x" and not any(n.type == "for_statement" for s in space.body for n in walk(s)):
            return None  # plain wide loads do as well
        try:
            body = found.block(space.body)
        except _NotSimple:
            return None
        count = (16 >> setting.narrow) // min(SIZES[kernel.parameter(a.root).type] for a in found.wide)  # type: ignore[union-attr]
        width, vector = source.unique("Width"), helper_name(source, "Columns", COLUMNS)
        add_columns = helper_name(source, "add_columns", ADD_COLUMNS)
        code = fresh(source, self._code(found, body))
        tall, tall_line = tunable(source, "rows_of_block", ROWS)
        marks = {"$Columns": vector, "$Width": width, "$add_columns": add_columns}
        for mark, name in marks.items():
            code = code.replace(mark, name)
        tiles_of, lanes_for = helper_name(source, "tiles_of", TILES), helper_name(source, "lanes_for", LANES_FOR)
        block, lanes = source.unique("block_shape"), source.unique("lanes")
        edits = [(kernel.body.start_byte, kernel.body.end_byte, "{\n" + indented(code, 4) + "\n}")]
        edits.append((kernel.node.start_byte, kernel.node.start_byte, f"template <int {width}>\n"))
        for launch in kernel.launches:
            cols = on_host(kernel, launch, text(found.col.bound))
            rows = on_host(kernel, launch, text(found.row.bound)) if found.row is not None else "1"
            if cols is None or rows is None or text(launch.statement).rstrip("; ") != text(launch.node):
                return None
            rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
            given = ", ".join(text(n) for n in launch.arguments)
            roots = sorted({f"reinterpret_cast<size_t>({launch.argument(kernel, a.root)})" for a in found.wide})
            aligned = f"({' | '.join(roots)}) % 16 == 0"
            calls_ = []
            for each in sorted({count, 2, 1}, reverse=True):
                shape = f"const dim3 {block}({LANES});"
                if found.row is not None:  # without rows, more threads would do the same again
                    items = f"({cols} + {each - 1}) / {each}" if each > 1 else cols
                    shape = f"const int {lanes} = {lanes_for}({items});\n"
                    shape += f"    const dim3 {block}({lanes}, {tall} * {LANES} / {lanes});"
                grid = f"dim3({tiles_of}({cols}, {block}.x * {each}, 2147483647), {tiles_of}({rows}, {block}.y, 65535))"
                call = f"{{\n    {shape}\n    {kernel.name}<{each}><<<{grid}, {block}{rest}>>>({given});\n}}"
                enough = f"(long long)({cols}) * ({rows}) >= {setting.multiprocessors * THREADS * each}LL"
                calls_.append(f"if (({cols}) % {each} == 0 && {aligned} && {enough}) {call}" if each > 1 else call)
            chain = " else ".join(calls_)
            edits.append((launch.statement.start_byte, launch.statement.end_byte, indented(chain, 4).lstrip()))
        edits += [(n.start_byte, n.end_byte, "") for n in kernel.node.children if n.type == "launch_bounds"]
        result = with_helper(edited(source.text, edits), tiles_of, TILES)
        if found.row is not None:
            result = with_helper(with_helper(result, lanes_for, LANES_FOR), tall, tall_line)
        if add_columns in code:
            result = with_helper(result, add_columns, ADD_COLUMNS)
        return with_helper(result, vector, COLUMNS)

    @staticmethod
    def _code(found: _Columns, body: str) -> str:
        col, preamble = found.col.variable, "".join(f"{dedented(text(n))}\n" for n in found.space.preamble)
        head = (
            f"{preamble}const long long {col} = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * $Width;\n"
            f"if ({col} >= {text(found.col.bound)}) return;\n"
        )
        if found.row is None:
            return head + body
        row = found.row.variable
        return (
            f"{head}for (long long {row} = blockIdx.y * (long long)blockDim.y + threadIdx.y; "
            f"{row} < {text(found.row.bound)}; {row} += gridDim.y * (long long)blockDim.y) {{\n{indented(body, 4)}\n}}"
        )


@dataclass
class _Columns:
    """The columns of a kernel and what depends on them; writes the body for several at once."""

    kernel: Kernel
    space: Space = field(repr=False)
    col: Axis
    row: Axis | None
    accesses: dict[int, Access]
    """Subscripts that move with the column, by node."""
    wide: tuple[Access, ...]
    """Those among them that can be loaded and stored together."""
    varying: set[str]
    """Locals that have a value for each column."""

    def block(self, nodes: tuple[Node, ...]) -> str:
        """Write statements for all columns of a thread."""
        return "\n".join(self._statement(n) for n in nodes)

    def _varies(self, node: Node | None) -> bool:
        if node is None:
            return False
        names = self.varying | {self.col.variable}
        return any(n.id in self.accesses or (n.type == "identifier" and text(n) in names) for n in walk(node))

    def _statement(self, node: Node) -> str:
        match node.type:
            case "declaration":
                return "\n".join(self._declaration(node, d) for d in node.children_by_field_name("declarator"))
            case "expression_statement" if (target := self._added_to(node)) is not None:
                return self._adding(node, target)
            case "expression_statement":
                return self._for_each(node) if self._varies(node) else dedented(text(node))
            case "compound_statement":
                return "{\n" + indented(self.block(statements(node)), 4) + "\n}"
            case "for_statement":
                heads = [node.child_by_field_name(f) for f in ("initializer", "condition", "update")]
                if any(map(self._varies, heads)):
                    raise _NotSimple
                body = self.block(statements(node.child_by_field_name("body")))
                return f"{loop_head(node)} {{\n{indented(body, 4)}\n}}"
            case "if_statement":
                condition, other = node.child_by_field_name("condition"), node.child_by_field_name("alternative")
                if self._varies(condition) or other is not None:
                    raise _NotSimple
                body = self.block(statements(node.child_by_field_name("consequence")))
                return f"if {text(condition)} {{\n{indented(body, 4)}\n}}"
            case "continue_statement":
                return text(node)
        raise _NotSimple

    def _added_to(self, node: Node) -> Node | None:
        """Return the target of `atomicAdd(&place, value);` where that is a wide place."""
        call = node.named_children[0]
        listed = call.child_by_field_name("arguments") if call.type == "call_expression" else None
        target = listed.named_children[0] if listed is not None and len(listed.named_children) == 2 else None
        place = target.child_by_field_name("argument") if target is not None else None
        if place is None or text(call.child_by_field_name("function")) != "atomicAdd":
            return None
        access = self.accesses.get(place.id)
        parameter = self.kernel.parameter(access.root) if access is not None else None
        return target if access in self.wide and parameter is not None and parameter.type == "float" else None

    def _adding(self, node: Node, target: Node) -> str:
        listed = node.named_children[0].child_by_field_name("arguments")
        assert listed is not None
        terms = self._for_each(listed.named_children[1], "@terms[@v] = ", ";")
        lines = ["float @terms[$Width];", terms, f"$add_columns({text(target)}, @terms);"]
        return "{\n" + indented("\n".join(lines), 4) + "\n}"

    def _declaration(self, node: Node, declarator: Node) -> str:
        name, value = declared_name(declarator), declarator.child_by_field_name("value")
        kind = text(node.child_by_field_name("type"))
        if name not in self.varying:
            const = "const " if re.match(r"(?:static )?const\b", text(node)) else ""
            return f"{const}{kind} {dedented(text(declarator))};"
        if "*" in text(declarator).split("=")[0] or kind == "auto":
            raise _NotSimple
        start = f"{kind} {name}[$Width];"
        return start if value is None else f"{start}\n{self._for_each(value, f'{name}[@v] = ', ';')}"

    def _for_each(self, node: Node, before: str = "", after: str = "") -> str:
        """Write one statement for each column, wide loads in front of it, wide stores behind."""
        loads, stores, edits = [], [], []
        names: dict[str, str] = {}
        for n in walk(node):
            access = self.accesses.get(n.id)
            here = n.start_byte - node.start_byte, n.end_byte - node.start_byte
            if access is not None:
                if access not in self.wide or (access.written and access.read and _address(n)):
                    edits.append((*here, f"(&{text(n)})[@v]"))
                    continue
                name = names.get(squeezed(n))
                if name is None:
                    name = names[squeezed(n)] = f"@{access.root}_columns{len(names) or ''}"
                    kind = f"$Columns<{self.kernel.parameter(access.root).type}, $Width>"  # type: ignore[union-attr]
                    if access.written:
                        loads.append(f"{kind} {name};")
                        stores.append(f"*reinterpret_cast<{kind}*>(&{text(n)}) = {name};")
                        if access.read:
                            raise _NotSimple
                    else:
                        loads.append(f"const {kind} {name} = *reinterpret_cast<const {kind}*>(&{text(n)});")
                edits.append((*here, f"{name}.at[@v]"))
            elif n.type == "identifier" and not any(a.start_byte <= n.start_byte < a.end_byte for a in self._nodes()):
                if text(n) in self.varying:
                    edits.append((*here, f"{text(n)}[@v]"))
                elif text(n) == self.col.variable:
                    edits.append((*here, f"({text(n)} + @v)"))
        inner = f"{before}{dedented(edited(text(node), edits))}{after}"
        loop = f"#pragma unroll\nfor (int @v = 0; @v < $Width; ++@v) {inner}"
        if not loads:
            return loop
        return "{\n" + indented("\n".join([*loads, loop, *stores]), 4) + "\n}"

    def _nodes(self) -> list[Node]:
        return [a.node for a in self.accesses.values()]


def _address(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "pointer_expression"


def _columns(kernel: Kernel, space: Space, col: Axis) -> _Columns | None:
    """Return what moves with an axis, if that is along rows of memory wherever it shows."""
    name = col.variable
    row = next((a for a in space.axes if a.variable != name), None)
    accesses: dict[int, Access] = {}
    wide = []
    bound = text(col.bound)
    scalar = kernel.parameter(bound)
    if scalar is None or scalar.pointer or bound in kernel.assigned:
        return None
    if any(name in assigned_names(n) for n in space.body):
        return None
    for statement in space.body:
        for access in kernel.accesses_in(statement, name):
            if not shows(access.index, name):
                continue
            rest = without(access.index, name)
            if coefficient(access.index, name) != {(): 1} or shows(rest, name):
                return None
            accesses[access.node.id] = access
            parameter = kernel.parameter(access.root)
            whole = all(bound in key for key in rest)
            if whole and parameter is not None and parameter.type in SIZES and SIZES[parameter.type] in (2, 4):
                wide.append(access)
    if not wide or not any(a.written for a in accesses.values()) or not _own(kernel, accesses):
        return None
    varying = _varying(kernel, space, accesses, name)
    if varying is None or any(not kernel.source.pure(c) and c != "atomicAdd" for s in space.body for c in calls(s)):
        return None
    return _Columns(kernel, space, col, row, accesses, tuple(wide), varying)


def _own(kernel: Kernel, accesses: dict[int, Access]) -> bool:
    """Return whether what is written is nowhere else read, and at one place only."""
    for root in kernel.written_roots:
        places = [a for a in kernel.accesses if a.root == root]
        if not places or len({squeezed(a.node) for a in places}) != 1:
            return False
    return True


def _varying(kernel: Kernel, space: Space, accesses: dict[int, Access], col: str) -> set[str] | None:
    """Return the locals that differ between columns; those that only say where in an array stay what they are."""
    places = {n.id for a in accesses.values() for n in walk(a.node)}
    found: set[str] = set()
    while True:
        more = set()
        for statement in space.body:
            for node in walk(statement):
                left = node.child_by_field_name("left" if node.type == "assignment_expression" else "declarator")
                right = node.child_by_field_name("right" if node.type == "assignment_expression" else "value")
                if node.type not in ("assignment_expression", "init_declarator") or left is None or right is None:
                    continue
                name = text(left) if node.type == "assignment_expression" else declared_name(node)
                moved = any(
                    n.id in accesses or (n.type == "identifier" and text(n) in found | {col} and n.id not in places)
                    for n in walk(right)
                )
                if moved and name in kernel.declared and name not in found:
                    if node.type == "init_declarator" and _only_a_place(kernel, node, accesses, col):
                        continue
                    more.add(name)
        if not more:
            break
        found |= more
    if any(not re.fullmatch(r"float|int|bool|unsigned(?: int)?", kernel.declared[n]) for n in found):
        return None
    return found if not found & assigned_names(space.kernel.node) - set(kernel.declared) else None


def _only_a_place(kernel: Kernel, node: Node, accesses: dict[int, Access], col: str) -> bool:
    """Return whether a local is an index or pointer that is used in moving subscripts alone."""
    name = declared_name(node)
    if name not in kernel.locals or any(n.id in accesses for n in walk(node.child_by_field_name("value") or node)):
        return False
    inside = {n.id for a in accesses.values() for n in walk(a.node)}
    uses = [n for n in walk(kernel.body) if n.type == "identifier" and text(n) == name and n.id not in inside]
    return len(uses) == 1 and coefficient(kernel.poly(node.child_by_field_name("value"), col), col) == {(): 1}
