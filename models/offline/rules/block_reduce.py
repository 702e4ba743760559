"""One atomic per block instead of one per thread: shuffles in the warps, shared memory between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import BLOCKS_UP_TO, configuration_edits, dedented, helper_name, indented, on_host, with_helper
from ..loops import ParallelLoop, effects_known, global_index, parallel_loops
from ..rule import KernelRule, Setting
from ..syntax import (
    SIZES,
    Kernel,
    Source,
    code_only,
    coefficient,
    declared_name,
    edited,
    parsed,
    real,
    squeezed,
    text,
    walk,
    within,
)
from ..tuning import tunable

BLOCK_SUM = """\
// Sum over a block of whole warps; thread 0 gets it.
template <typename Number>
static __device__ __forceinline__ Number {name}(Number value) {{
    __shared__ Number of_warp[32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {{
        value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : Number(0);
        for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    }}
    return value;
}}
"""


@dataclass(frozen=True)
class Add:
    """One `atomicAdd(target, value);`."""

    statement: Node = field(repr=False)
    target: Node = field(repr=False)
    value: Node = field(repr=False)


class BlockReduce(KernelRule):
    """Every thread adds its share to one address: reduce in the block first."""

    name: ClassVar[str] = "block_reduce"
    answers: ClassVar[tuple[str, ...]] = ("same_address_atomics",)
    worth: ClassVar[float] = 8.0
    metric: ClassVar[str] = "same_address_atomics"
    why: ClassVar[str] = (
        "every thread adds to the same address with an atomic, and these are served one after another: sum with warp "
        "shuffles and shared memory first, and add once per block"
    )
    effect: ClassVar[str] = "as many atomics as blocks, and a grid that only fills the device"

    def forms(self, kernel: Kernel) -> tuple[Kernel | None, ...]:
        """Read a kernel without a guard as one with a guard that always holds, too."""
        return kernel, _guarded(kernel)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Gather in the block what all threads add to one place."""
        source = kernel.source
        atomics = [n for n in walk(kernel.body) if n.type == "call_expression" and _called(n).startswith("atomic")]
        code = re.sub(r"\batomicAdd\b", "", code_only(text(kernel.node)))
        if not atomics or any(_called(a) != "atomicAdd" for a in atomics) or not kernel.launches:
            return None
        if re.search(r"__shared__|__sync|__shfl|atomic[A-Z]|cooperative_groups|threadIdx\s*\.\s*[yz]", code):
            return None
        adds = [_add(a) for a in atomics]
        known = [a for a in adds if a is not None]
        if len(known) != len(adds) or len({squeezed(a.target) for a in known}) != 1:
            return None
        statement, target, value = known[0].statement, known[0].target, known[0].value
        number = self._number(kernel, target)
        loop = next((item for item in parallel_loops(kernel) if item.top), None)
        if number is None or loop is None or not _uniform(kernel, target):
            return None
        outside = not any(within(statement, n) for n in loop.body)
        if outside and (
            len(known) > 1 or loop.form == "guard" or not any(n.id == statement.id for n in kernel.statements)
        ):
            return None
        if any(not outside and not any(within(a.statement, n) for n in loop.body) for a in known):
            return None
        if any(
            n.type == "return_statement" and not (loop.form == "guard" and within(n, loop.node))
            for n in walk(kernel.body)
        ):
            return None
        block_sum = helper_name(source, "block_sum", BLOCK_SUM)
        edits: list[tuple[int, int, str]] = []
        if outside:
            total = source.unique("block_total")
            edits.append(
                (
                    statement.start_byte,
                    statement.end_byte,
                    f"const {number} {total} = {block_sum}({_cast(number, kernel, value)});\n"
                    f"    if (threadIdx.x == 0) atomicAdd({text(target)}, {total});",
                )
            )
        else:
            edits.append(self._inner(kernel, loop, known, number, block_sum, source))
        sized = loop.form != "block"
        blocks_up_to = helper_name(source, "blocks_up_to", BLOCKS_UP_TO)
        # Loads behind a test of the index are made one at a time: more threads must take the place of more loads.
        tests = [text(n.child_by_field_name("condition")) for n in loop.inside if n.type == "if_statement"]
        tested = any(re.search(rf"\b{loop.variable}\b", test) for test in tests)
        together = 1 if tested else _in_vectors(kernel, loop)
        each, each_line = tunable(source, "blocks_of_processor", (8, 4, 2, 1) if tested else (4, 2, 1, 8))
        for launch in kernel.launches:
            block = source.block_of(launch)
            whole_warps = block[0] is not None and block[0] % 32 == 0 and block[1:] == (1, 1)
            threads = None if whole_warps else "256"
            grid = None
            if sized:
                count = on_host(kernel, launch, text(loop.bound))
                if count is None:
                    return None
                most = f"{each} * {setting.multiprocessors}"
                items = threads or text(launch.configuration[1])
                if together > 1:
                    items = f"{items} * {together}" if re.fullmatch(r"\w+", items) else f"({items}) * {together}"
                grid = f"{blocks_up_to}({count}, {items}, {most})"
            edits += configuration_edits(launch, grid=grid, block=threads)
        result = edited(source.text, edits)
        if sized:
            result = with_helper(with_helper(result, each, each_line), blocks_up_to, BLOCKS_UP_TO)
        return with_helper(result, block_sum, BLOCK_SUM)

    def _inner(
        self, kernel: Kernel, loop: ParallelLoop, adds: list[Add], number: str, block_sum: str, source: Source
    ) -> tuple[int, int, str]:
        """Gather the terms of a loop, or of a guarded body, in a variable of the thread."""
        partial = source.unique("thread_sum")
        total = source.unique("block_total")
        body = _with_statements(loop.body, {a.statement: f"{partial} += {text(a.value)};" for a in adds})
        kind = "long long" if loop.form == "guard" else loop.type
        head = (
            f"for ({kind} {loop.variable} = blockIdx.x * (long long)blockDim.x + threadIdx.x; {loop.variable} < "
            f"{text(loop.bound)}; {loop.variable} += (long long)gridDim.x * blockDim.x) {{"
        )
        if loop.form != "guard":
            initializer, condition, update = (
                text(loop.node.child_by_field_name(f)) for f in ("initializer", "condition", "update")
            )
            head = f"for ({initializer.rstrip(';')}; {condition}; {update}) {{"
        code = (
            f"{number} {partial} = 0;\n{head}\n{indented(body, 4)}\n}}\n"
            f"const {number} {total} = {block_sum}({partial});\n"
            f"if (threadIdx.x == 0) atomicAdd({text(adds[0].target)}, {total});"
        )
        if loop.form == "guard":
            assert loop.declaration is not None
            start, end = loop.declaration.start_byte, max(loop.node.end_byte, loop.body[-1].end_byte)
            between = [n for n in kernel.statements if start < n.start_byte < loop.node.start_byte]
            code = "".join(f"{text(n)}\n" for n in between) + code
            return start, end, indented(code, 4).lstrip()
        return loop.node.start_byte, loop.node.end_byte, indented(code, 4).lstrip()

    @staticmethod
    def _number(kernel: Kernel, target: Node) -> str | None:
        """Return the element type of the atomic's target."""
        for node in walk(target):
            parameter = kernel.parameter(text(node)) if node.type == "identifier" else None
            if parameter is not None and parameter.pointer:
                return parameter.type if parameter.type in ("float", "int", "unsigned int", "unsigned") else None
        return None


def _called(node: Node) -> str:
    return text(node.child_by_field_name("function"))


def _in_vectors(kernel: Kernel, loop: ParallelLoop) -> int:
    """Return how many items make 16 bytes if a loop reads its arrays element by element, else 1."""
    accesses = loop.accesses()
    sizes = {SIZES.get(p.type, 16) for root, *_ in accesses if (p := kernel.parameter(root)) is not None}
    straight = all(coefficient(index, loop.variable) == {(): 1} for _, index, *_ in accesses)
    plain = effects_known(loop, adding=True) and not loop.leaves("for_statement", "while_statement")
    return 16 // min(sizes) if sizes and straight and plain else 1


def _uniform(kernel: Kernel, target: Node) -> bool:
    """Return whether an expression is the same for all threads of a block."""
    parameters = {p.name for p in kernel.parameters}
    names = {text(n) for n in walk(target) if n.type == "identifier"}
    changed = kernel.assigned - {text(n) for n in walk(target) if n.type == "identifier" and kernel.parameter(text(n))}
    return names <= parameters | {"blockIdx"} and not names & (changed & parameters)


def _cast(number: str, kernel: Kernel, value: Node) -> str:
    """Give a value the atomic's type, so that the helper's template fits."""
    known = kernel.declared.get(text(value)) == number
    return text(value) if known else f"({number})({text(value)})"


def _with_statements(body: Iterable[Node], replaced: dict[Node, str]) -> str:
    """Return a body's code with some statements replaced."""
    parts = []
    for node in body:
        inside = [
            (s.start_byte - node.start_byte, s.end_byte - node.start_byte, new)
            for s, new in replaced.items()
            if within(s, node)
        ]
        parts.append(edited(text(node), inside))
    return "\n".join(dedented(p) for p in parts)


def _add(call: Node) -> Add | None:
    """Read a call of atomicAdd whose result nobody uses."""
    statement = call.parent
    listed = call.child_by_field_name("arguments")
    if statement is None or statement.type != "expression_statement" or listed is None:
        return None
    target, value = real(listed.named_children)
    return Add(statement, target, value)


def _guarded(kernel: Kernel) -> Kernel | None:
    """Bound the global index of a kernel that has no such guard by the number of threads that are launched.

    The threads' work is a loop over all of them then, and fewer threads can do it.
    """
    source = kernel.source
    first = next((n for n in kernel.statements if n.type == "declaration"), None)
    declarators = first.children_by_field_name("declarator") if first is not None else []
    value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
    if first is None or value is None or global_index(kernel.poly(value)) is None or kernel.template is not None:
        return None
    places = [n for n in walk(kernel.body) if n.type == "field_expression" and not within(n, value)]
    if any(text(n.child_by_field_name("argument")) in ("threadIdx", "blockIdx", "gridDim") for n in places):
        return None
    if declared_name(declarators[0]) in kernel.assigned or not kernel.launches or not kernel.parameters:
        return None
    items = source.unique("items")
    last = kernel.parameters[-1].node
    guard = f"\n    if ({declared_name(declarators[0])} >= {items}) return;"
    edits = [(last.end_byte, last.end_byte, f", long long {items}"), (first.end_byte, first.end_byte, guard)]
    for launch in kernel.launches:
        if source.block_of(launch)[1:] != (1, 1) or source.grid_of(launch)[1:] != (1, 1):
            return None
        grid, block = (text(n) for n in launch.configuration[:2])
        end = launch.arguments[-1].end_byte
        edits.append((end, end, f", ({grid}) * (long long)({block})"))
    return parsed(edited(source.text, edits)).kernel(kernel.name)
