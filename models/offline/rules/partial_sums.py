"""A sum that is cleared before its kernel and finished after it: partial sums, and one launch that finishes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from tree_sitter import Node

from ..emit import BLOCKS_UP_TO, fresh, helper_name, with_helper
from ..loops import ParallelLoop, parallel_loops
from ..rule import KernelRule, Setting
from ..syntax import SIZES, Kernel, Launch, Source, calls, code_only, edited, real, squeezed, text, walk, within
from ..workspace import free_workspace
from .block_reduce import BLOCK_SUM
from .fuse_launches import checks_error
from .vectorize import CHEAP

_THREADS = ("threadIdx", "blockIdx", "blockDim", "gridDim")

_NS_PER_ITEM, _NS_PER_BYTE, _NS_PER_DEAR_CALL = 0.01, 0.01, 0.13
"""What one block of 1024 threads takes: the arithmetic of one multiprocessor, and about 100 GB/s."""


@dataclass(frozen=True)
class Sum:
    """`if (threadIdx.x == 0) atomicAdd(target, value);` at a kernel's end, and what the host does around the launch."""

    statement: Node = field(repr=False)
    target: str
    value: str
    clearing: Node = field(repr=False)
    """The call that sets the target to zero."""
    checks: tuple[Node, ...] = field(repr=False)
    """Where an error of that call is looked for."""
    finish: Launch
    """One thread that turns the sum into the result."""


class PartialSums(KernelRule):
    """Clear, add, finish: three launches. The last can add up partial sums; one block does a small case."""

    name: ClassVar[str] = "partial_sums"
    answers: ClassVar[tuple[str, ...]] = ("launch_or_sync_bound", "fusible_launches", "same_address_atomics")
    worth: ClassVar[float] = 1.42
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "the sum is cleared, added to by every block and finished by one thread, each a launch of its own: let every "
        "block store its partial sum, and the last launch add these up; one block needs no other launch at all"
    )
    effect: ClassVar[str] = "a launch and all atomics less; two launches less for a small case"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Store partial sums, and add them up in front of the step that finishes."""
        source = kernel.source
        launch = kernel.launches[0] if len(kernel.launches) == 1 else None
        found = _sum(source, kernel, launch) if launch is not None else None
        workspace = free_workspace(source, launch) if launch is not None else None
        if launch is None or found is None or workspace is None:
            return None
        most = _most_blocks(launch, source)
        loop = any_shape(kernel)
        items = items_of(launch)
        finish = source.kernel(found.finish.kernel)
        target = kernel.parameter(found.target)
        if most is None or finish is None or target is None or loop is None or items is None:
            return None
        result = squeezed(launch.arguments[kernel.parameters.index(target)])
        block_sum = helper_name(source, "block_sum", BLOCK_SUM)
        own = [p for p, a in zip(finish.parameters, found.finish.arguments, strict=True) if squeezed(a) == result]
        extra = {p.name: source.unique(f"{p.name}_at_the_end") for p in finish.parameters if p not in own}
        declared = [re.sub(rf"\b{p.name}$", extra[p.name], text(p.node)) for p in finish.parameters if p not in own]
        passed = [text(a) for a, p in zip(found.finish.arguments, finish.parameters, strict=True) if p not in own]
        call = f"{finish.name}({', '.join(extra.get(p.name, found.target) for p in finish.parameters)});"
        number = target.type
        last = f"""\


// The last step: add up the partial sums of all blocks, and finish.
__global__ void @finish_sum({text(target.node)}, const {number}* @partial_sums, unsigned @count{_more(declared)}) {{
    {number} @total = 0;
    for (unsigned @block = threadIdx.x; @block < @count; @block += blockDim.x) @total += @partial_sums[@block];
    @total = {block_sum}(@total);
    if (threadIdx.x == 0) {{
        *{found.target} = @total;
        {call}
    }}
}}"""
        tail = f"""\
if (threadIdx.x == 0 && gridDim.x > 1) @partial_sums[blockIdx.x] = {found.value};
    if (threadIdx.x == 0 && gridDim.x == 1) {{
        *{found.target} = {found.value};
        {call}
    }}"""
        grid, block = (text(n) for n in launch.configuration[:2])
        given = ", ".join(text(n) for n in launch.arguments)
        buffer = f"static_cast<{number}*>({workspace.name})"
        rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
        start = f"""\
const unsigned @sums = {grid};
    // A small case is one block's work: nothing is left to add up.
    const bool @alone = @sums <= 1 || {items} <= {items_alone(kernel, loop, budget_ns=1200)};
    {kernel.name}<<<@alone ? 1 : @sums, @alone ? 1024 : {block}{rest}>>>({given}, {buffer}{_more(passed)});"""
        end = (
            f"if (!@alone) @finish_sum<<<1, 256{rest}>>>({text(launch.arguments[kernel.parameters.index(target)])}, "
            f"{buffer}, @sums{_more(passed)});"
        )
        room = f"return {most} * sizeof({number});"
        parameters = kernel.parameters[-1].node
        # What finishes is called by the kernel now: it must come first.
        moved = text(finish.node).replace("__global__", "static __device__ __forceinline__", 1)
        edits = [
            (kernel.outer.start_byte, kernel.outer.start_byte, f"{moved}\n\n"),
            (finish.outer.start_byte, finish.outer.end_byte, ""),
            (parameters.end_byte, parameters.end_byte, f", {number}* @partial_sums{_more(declared)}"),
            (found.statement.start_byte, found.statement.end_byte, tail),
            (kernel.outer.end_byte, kernel.outer.end_byte, last),
            (found.clearing.start_byte, found.clearing.end_byte, "cudaSuccess"),
            (launch.statement.start_byte, launch.statement.end_byte, start),
            (found.finish.statement.start_byte, found.finish.statement.end_byte, end),
            (workspace.size.start_byte, workspace.size.end_byte, room),
        ]
        # The block may be larger than the kernel was written for, and must not take more registers than there are.
        name = kernel.declarator.child_by_field_name("declarator")
        assert name is not None
        edits.append((name.start_byte, name.start_byte, "__launch_bounds__(1024, 1) "))
        edits += [(n.start_byte, n.end_byte, "") for n in found.checks]
        result = edited(source.text, [(begin, stop, fresh(source, new)) for begin, stop, new in edits])
        return with_helper(result, block_sum, BLOCK_SUM)


def _more(listed: list[str]) -> str:
    return "".join(f", {item}" for item in listed)


def _most_blocks(launch: Launch, source: Source) -> str | None:
    """Return the largest number of blocks that a launch asks for, as an expression that the whole file understands."""
    grid = launch.configuration[0]
    name = text(grid.child_by_field_name("function")) if grid.type == "call_expression" else ""
    listed = grid.child_by_field_name("arguments")
    if not name or BLOCKS_UP_TO.format(name=name) not in source.text or listed is None:
        return None
    most = text(real(listed.named_children)[2])
    constant = re.fullmatch(r"(?:(\w+) \* )?\d+", most)
    known = constant is not None and (constant[1] is None or f"constexpr int {constant[1]} = " in source.text)
    return most if known else None


def _sum(source: Source, kernel: Kernel, launch: Launch) -> Sum | None:
    """Read a kernel that ends in one atomic per block, and what stands around its launch."""
    added = added_by_blocks(kernel)
    parameter = kernel.parameter(added[0]) if added is not None else None
    if added is None or parameter is None or any_shape(kernel) is None or not plain_launch(source, launch):
        return None
    result = squeezed(launch.arguments[kernel.parameters.index(parameter)])
    place = launch.statement.parent
    listed = real(place.named_children) if place is not None else []
    after = [n for n in listed if n.start_byte >= launch.statement.end_byte and not checks_error(n)]
    finish = next((la for la in source.launches if after and la.statement.id == after[0].id), None)
    found = cleared_before(launch, result, parameter.type)
    if found is None or finish is None or not _finishes(source, finish, result, parameter.type):
        return None
    if finish.stream != launch.stream:
        return None
    return Sum(kernel.statements[-1], *added, *found, finish)


def cleared_before(launch: Launch, result: str, number: str) -> tuple[Node, tuple[Node, ...]] | None:
    """Return the call that sets one number to zero before a launch, and the checks of its error.

    Nothing but such checks and plain declarations may stand between them.
    """
    place = launch.statement.parent
    listed = real(place.named_children) if place is not None else []
    before = [n for n in reversed(listed) if n.end_byte <= launch.statement.start_byte]
    clearing = next((i for i, n in enumerate(before) if "cudaMemsetAsync" in text(n)), None)
    if clearing is None:
        return None
    if not all(checks_error(n) or (n.type == "declaration" and "(" not in text(n)) for n in before[:clearing]):
        return None
    call = re.fullmatch(
        rf"(?:cudaError_t)?\w+=(cudaMemsetAsync\({re.escape(result)},0,sizeof\({number}\),(\w+)\));",
        squeezed(before[clearing]).removeprefix("const"),
    )
    if call is None or call[2] != launch.stream:
        return None
    cleared = next(n for n in walk(before[clearing]) if n.type == "call_expression")
    checks = tuple(before[clearing - 1 : clearing]) if clearing and before[clearing - 1].type == "if_statement" else ()
    return cleared, checks


def items_alone(kernel: Kernel, loop: ParallelLoop, budget_ns: float) -> int:
    """Return how many items one block of 1024 threads gets through in a time."""
    bytes_each = {p.name: SIZES.get(p.type, 8) for root, *_ in loop.accesses() if (p := kernel.parameter(root))}
    dear = set().union(*(calls(n) for n in loop.body), set()) - CHEAP
    each_ns = _NS_PER_ITEM + _NS_PER_BYTE * sum(bytes_each.values()) + _NS_PER_DEAR_CALL * len(dear)
    return max(1024, int(budget_ns / each_ns) // 1024 * 1024)


def items_of(launch: Launch) -> str | None:
    """Return the number of items in a grid that is `blocks(items, threads, most)`; None if it can't be named twice."""
    grid = launch.configuration[0]
    listed = grid.child_by_field_name("arguments") if grid.type == "call_expression" else None
    parts = real(listed.named_children) if listed is not None else []
    return text(parts[0]) if len(parts) == 3 and not _changes(parts[0]) else None


def _changes(expression: Node) -> bool:
    return bool(calls(expression)) or any(
        n.type in ("assignment_expression", "update_expression") for n in walk(expression)
    )


def added_by_blocks(kernel: Kernel) -> tuple[str, str] | None:
    """Return target and value of `if (threadIdx.x == 0) atomicAdd(target, value);` at the end of a kernel."""
    last = kernel.statements[-1] if kernel.statements else None
    found = re.fullmatch(r"if\(threadIdx\.x==0\)atomicAdd\((\w+),(\w+)\);", squeezed(last))
    code = code_only(text(kernel.body))
    if found is None or len(re.findall(rf"\b{found[1]}\b", code)) != 1 or kernel.written_roots != {found[1]}:
        return None
    return found[1], found[2]


def any_shape(kernel: Kernel) -> ParallelLoop | None:
    """Return the one loop of a kernel that does its work under any number of blocks and threads."""
    loops = [item for item in parallel_loops(kernel) if item.form == "grid" and item.top]
    code = code_only(text(kernel.node))
    if len(loops) != 1 or kernel.template is not None or re.search(r"__shared__|__sync|__shfl|\breturn\b", code):
        return None
    if any(n.type == "launch_bounds" for n in kernel.node.children):
        return None
    heads = [loops[0].node.child_by_field_name(f) for f in ("initializer", "update")] + [kernel.statements[-1]]
    places = [n for n in walk(kernel.body) if n.type == "identifier" and text(n) in _THREADS]
    inside = all(any(head is not None and within(n, head) for head in heads) for n in places)
    return loops[0] if inside else None


def plain_launch(source: Source, launch: Launch) -> bool:
    """Return whether a launch is a statement of its own, over one axis, with no shared memory asked for."""
    flat = source.block_of(launch)[1:] == (1, 1) and source.grid_of(launch)[1:] == (1, 1)
    return flat and launch.statement.type == "expression_statement" and _shared(launch) == "0"


def _shared(launch: Launch) -> str:
    return squeezed(launch.configuration[2]) if len(launch.configuration) > 2 else "0"


def _finishes(source: Source, launch: Launch, result: str, number: str) -> bool:
    """Return whether a launch is one thread that works on the result and on scalars alone."""
    kernel = source.kernel(launch.kernel)
    if kernel is None or kernel.template is not None or len(kernel.launches) != 1 or kernel.cooperates:
        return False
    one = [squeezed(n) for n in launch.configuration[:2]] == ["1", "1"] and _shared(launch) == "0"
    if not one or kernel.uses(*_THREADS) or "volatile" in text(kernel.node):
        return False
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        if squeezed(argument) == result:
            if not parameter.pointer or parameter.type != number:
                return False
        elif parameter.pointer or not re.fullmatch(r"[\w\s.()*/+-]+", text(argument)):
            return False
    return result in [squeezed(n) for n in launch.arguments]
