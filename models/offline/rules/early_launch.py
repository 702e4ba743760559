"""Launches that wait for the ones before them: let the next kernel's blocks come while the last one still runs."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import helper_name, with_helper
from ..rule import Rule, Setting
from ..syntax import (
    Kernel,
    Launch,
    Source,
    assigned_names,
    code_only,
    declared_name,
    edited,
    squeezed,
    subscript_index,
    text,
    walk,
    within,
)

BRANCHES = {
    "if_statement", "switch_statement", "conditional_expression", "binary_expression", "lambda_expression",
}  # fmt: skip
"""What may pass over a part of itself."""
DEVICE_VARIABLE = re.compile(r"\b__device__[^(){};]*[;=]")
"""Memory that a kernel can reach without a parameter."""

WAIT, TRIGGER = "cudaGridDependencySynchronize();", "cudaTriggerProgrammaticLaunchCompletion();"

LAUNCH_EARLY = """\
// Launches a kernel whose blocks may come while the kernel before still runs; they wait for its end themselves.
template <typename... Parameters, typename... Arguments>
static void {name}(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   Arguments... arguments) {{
    cudaLaunchAttribute attribute = {{}};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {{}};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}}
"""

CLEAR = f"""\
__global__ void {{name}}_kernel(unsigned char* memory, size_t bytes) {{{{
    {TRIGGER}
    const size_t first = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 16;
    if (first + 16 <= bytes && reinterpret_cast<size_t>(memory) % 16 == 0) {{{{
        *reinterpret_cast<uint4*>(memory + first) = make_uint4(0, 0, 0, 0);
    }}}} else {{{{
        for (size_t at = first; at < first + 16 && at < bytes; ++at) memory[at] = 0;
    }}}}
}}}}

// Clears memory by a kernel: the next one can be launched while it runs.
static cudaError_t {{name}}(void* memory, size_t bytes, cudaStream_t stream) {{{{
    {{name}}_kernel<<<(unsigned)(bytes / 4096 + 1), 256, 0, stream>>>(static_cast<unsigned char*>(memory), bytes);
    return cudaGetLastError();
}}}}
"""


class EarlyLaunch(Rule):
    """Several launches in a row: each one's way to the device is hidden behind the one before."""

    name: ClassVar[str] = "early_launch"
    answers: ClassVar[tuple[str, ...]] = ("launch_or_sync_bound", "fusible_launches")
    worth: ClassVar[float] = 1.02  # the last: other rules read plain launches
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "every launch waits until all of the one before is done and only then starts on its way: launched with "
        "programmatic dependence its blocks are there already, and wait in the kernel's first line"
    )
    effect: ClassVar[str] = "about a microsecond less for every launch but the first"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Launch early what follows another launch in the entry point."""
        if not setting.on_gpu or WAIT in source.text or "cudaLaunch" in source.text:
            return None
        entries = [n for n in source.functions.values() if _is_entry(n)]
        if not source.launches or any(launch.host not in entries for launch in source.launches):
            return None
        clears = [n for host in entries for n in walk(host) if _clears(n)]
        later = [launch for launch in source.launches if _follows(launch, source, clears)]
        early = {k.name for k in source.kernels if k.launches and all(launch in later for launch in k.launches)}
        early = {name for name in early if _may_wait(source.kernel(name))}
        chosen = [launch for launch in later if launch.kernel in early]
        if not chosen:
            return None
        launch_early, clear = helper_name(source, "launch_early", LAUNCH_EARLY), helper_name(source, "clear", CLEAR)
        edits: list[tuple[int, int, str]] = []
        for kernel in source.kernels:
            if kernel.launches:
                first = kernel.body.start_byte + 1
                edits.append((first, first, f"\n    {TRIGGER}"))
            if kernel.name in early:
                sure = all(_surely_after(launch, source, clears, chosen) for launch in kernel.launches)
                many = all(_after_if_many(launch, clears) for launch in kernel.launches)
                edits += [*_restrictions(kernel), *_waits(kernel, late=sure or many)]
                if many and not sure:
                    edits.append((first, first, f"\n    if (gridDim.x == 1) {WAIT}"))
        for launch in chosen:
            grid, block, shared, stream = [*map(text, launch.configuration), "0", "0"][:4]
            given = ", ".join((text(launch.function), grid, block, shared, stream, *map(text, launch.arguments)))
            edits.append((launch.node.start_byte, launch.node.end_byte, f"{launch_early}({given})"))
        for node in clears:
            at, _, size, stream = (text(n) for n in _arguments(node))
            edits.append((node.start_byte, node.end_byte, f"{clear}({at}, {size}, {stream})"))
        result = edited(source.text, edits)
        result = with_helper(result, launch_early, LAUNCH_EARLY)
        return with_helper(result, clear, CLEAR) if clears else result


def _is_entry(function: Node) -> bool:
    up = function.parent
    while up is not None and up.type != "linkage_specification":
        up = up.parent
    return up is not None


def _arguments(call: Node) -> list[Node]:
    found = call.child_by_field_name("arguments")
    return [n for n in found.named_children if n.type != "comment"] if found is not None else []


def _clears(node: Node) -> bool:
    """Return whether a node is a call that clears memory."""
    if node.type != "call_expression" or text(node.child_by_field_name("function")) != "cudaMemsetAsync":
        return False
    arguments = _arguments(node)
    return len(arguments) == 4 and squeezed(arguments[1]) == "0"


def _follows(launch: Launch, source: Source, clears: list[Node]) -> bool:
    """Return whether something else was launched before, or the same in the turn before."""
    before = [other.node for other in source.launches if other.host == launch.host] + clears
    before = [n for n in before if n.start_byte < launch.node.start_byte]
    return any(launch.host is not None and within(n, launch.host) and not _either(n, launch.node) for n in before)


def _either(one: Node, other: Node) -> bool:
    """Return whether two nodes are in two branches of one condition."""
    up = one
    while up.parent is not None:
        below, up = up, up.parent
        if up.type == "if_statement" and within(other, up):
            condition = up.child_by_field_name("condition")
            return not within(other, below) and condition is not None and not within(one, condition)
    return False


def _may_wait(kernel: Kernel | None) -> bool:
    """Return whether a kernel can wait in its first line for what other kernels write: nothing is read ahead of it."""
    return kernel is not None and not re.search(r"\b__ldg\b|\basm\b|grid_group|this_grid", code_only(text(kernel.node)))


def _surely_after(launch: Launch, source: Source, clears: list[Node], early: list[Launch]) -> bool:
    """Return whether a plain launch always comes before in the same call: inputs are complete when this one starts."""
    plain = [other.node for other in source.launches if other not in early and other.host == launch.host] + clears
    return any(n.start_byte < launch.node.start_byte and not _conditional(n) for n in plain)


def _after_if_many(launch: Launch, clears: list[Node]) -> bool:
    """Return whether a clearing comes before in the same call if the launch is of more than one block.

    Both depend on one constant then: `alone ? cudaSuccess : clear(…)`, and a grid of `alone ? 1 : …`.
    """
    grid = launch.configuration[0]
    alone = text(grid.child_by_field_name("condition"))
    one = grid.type == "conditional_expression" and text(grid.child_by_field_name("consequence")) == "1"
    if not one or launch.host is None or not alone.isidentifier() or alone in assigned_names(launch.host):
        return False
    for node in clears:
        choice = node.parent
        if node.start_byte > launch.node.start_byte or choice is None or choice.type != "conditional_expression":
            continue
        other = choice.child_by_field_name("alternative")
        same = text(choice.child_by_field_name("condition")) == alone and other is not None and within(node, other)
        if same and within(choice, launch.host) and choice.parent is not None and not _conditional(choice.parent):
            return True
    return False


def _conditional(node: Node) -> bool:
    """Return whether a node of the host function may be left out, or done several times."""
    up: Node | None = node
    while up is not None and up.type != "function_definition":
        if up.type in BRANCHES or up.type.startswith(("for_", "while_", "do_")):
            return True
        up = up.parent
    return False


def _waits(kernel: Kernel, *, late: bool) -> list[tuple[int, int, str]]:
    """Return the edits that wait: in the first line, or (`late`) where something but inputs is used for the first time.

    Every thread waits before it ends: else a kernel could be done before the one before it.
    """
    first = kernel.body.start_byte + 1
    top = [(first, first, f"\n    {WAIT}")]
    others = {p.name for p in kernel.parameters if p.pointer and not _is_input(kernel, p.name)}
    until = next((n for n in kernel.statements if others & {text(i) for i in walk(n) if i.type == "identifier"}), None)
    if not late or until is None or DEVICE_VARIABLE.search(code_only(kernel.source.text)):
        return top
    before = [n for n in kernel.statements if n.start_byte < until.start_byte]
    returns = [n for s in before for n in walk(s) if n.type == "return_statement"]
    edits = [(n.start_byte, n.end_byte, f"{{ {WAIT} {text(n)} }}") for n in returns]
    at = until.start_byte
    found = _added(kernel, until, others)
    if found is None:
        return [*edits, (at, at, f"{WAIT}\n    ")]
    kind, target, place, value = found
    place_name, value_name = kernel.source.unique("place"), kernel.source.unique("value")
    code = f"""\
const long long {place_name} = {place};
    const {kind} {value_name} = {value};
    {WAIT}
    atomicAdd(&{target}[{place_name}], {value_name});"""
    return [*edits, (at, until.end_byte, code)]


def _added(kernel: Kernel, statement: Node, others: set[str]) -> tuple[str, str, str, str] | None:
    """Return type, array, index and value of `atomicAdd(&array[index], value);` with both made of inputs alone."""
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    if call is None or call.type != "call_expression" or text(call.child_by_field_name("function")) != "atomicAdd":
        return None
    arguments = _arguments(call)
    address = arguments[0].child_by_field_name("argument") if len(arguments) == 2 else None
    index = subscript_index(address) if address is not None and address.type == "subscript_expression" else None
    if address is None or index is None or not text(arguments[0]).startswith("&"):
        return None
    target = address.child_by_field_name("argument")
    parameter = kernel.parameter(text(target))
    names = {text(n) for part in (index, arguments[1]) for n in walk(part) if n.type == "identifier"}
    if parameter is None or names & others:
        return None
    return parameter.type, text(target), text(index), text(arguments[1])


def _is_input(kernel: Kernel, name: str) -> bool:
    return all(launch.argument(kernel, name) in _inputs(launch.host) for launch in kernel.launches)


def _restrictions(kernel: Kernel) -> list[tuple[int, int, str]]:
    """Return the edits that let go of __restrict__ where an earlier kernel may have written what is passed.

    What is const and __restrict__ is taken as unchanged while the kernel runs, and may be loaded before the wait.
    """
    edits = []
    for parameter in kernel.parameters:
        inputs = _is_input(kernel, parameter.name)
        for node in walk(parameter.node):
            if text(node) == "__restrict__" and not node.children and parameter.pointer and not inputs:
                edits.append((node.start_byte, node.end_byte, ""))
    return edits


def _inputs(host: Node | None) -> set[str]:
    """Return the names of an entry point's parameters that point to what is only read."""
    found: set[str] = set()
    if host is None:
        return found
    for node in walk(host):
        declarator = node.child_by_field_name("declarator")
        pointer = node.type == "parameter_declaration" and re.match(r"const\b[^*]*\*[^*]*$", text(node))
        if pointer and declarator is not None:
            found.add(declared_name(declarator))
    return found - assigned_names(host)
