"""Sums that one block alone adds to: store them, and nothing need be cleared first."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..rule import Rule, Setting
from ..syntax import Kernel, Launch, Source, code_only, declared_name, edited, id_of, squeezed, text, walk, within
from .fuse_launches import checks_error


class OwnSums(Rule):
    """A buffer is cleared so that block b can add its sum to element b: let the block store the sum."""

    name: ClassVar[str] = "own_sums"
    answers: ClassVar[tuple[str, ...]] = ("launch_or_sync_bound", "same_address_atomics")
    worth: ClassVar[float] = 1.46
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "every block adds one sum to a place of its own, which was cleared for it by a launch before: a plain store "
        "does the same, and nothing needs to be cleared"
    )
    effect: ClassVar[str] = "a launch and the atomics less"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Rewrite the kernels that add to the first buffer that qualifies."""
        for call in walk(source.root):
            if call.type == "call_expression" and text(call.child_by_field_name("function")) == "cudaMemsetAsync":
                edits = _stores(source, call)
                if edits:
                    edits.append((call.start_byte, call.end_byte, "cudaSuccess"))
                    check = _statement(call).next_named_sibling
                    if check is not None and check.type == "if_statement" and checks_error(check):
                        edits.append((check.start_byte, check.end_byte, ""))
                    return edited(source.text, edits)
        return None


def _stores(source: Source, clearing: Node) -> list[tuple[int, int, str]]:
    """Return the edits that turn additions to a cleared buffer into stores; none if any element might keep its zero."""
    cleared = re.fullmatch(r"cudaMemsetAsync\((\w+),0,.*,(\w+)\)", squeezed(clearing))
    host: Node | None = clearing
    while host is not None and host.type != "function_definition":
        host = host.parent
    if cleared is None or host is None:
        return []
    names = _parts(host, clearing, cleared[1])
    launches = [la for la in source.launches if la.host is not None and id_of(la.host) == id_of(host)]
    using = [la for la in launches if any(squeezed(a) in names for a in la.arguments)]
    body = host.child_by_field_name("body")
    statement = _statement(clearing)
    if not names or not using or any(not _same(la, using[0], cleared[2], body, statement) for la in using):
        return []
    if source.grid_of(using[0])[1:] != (1, 1):
        return []
    edits: list[tuple[int, int, str]] = []
    written: set[str] = set()
    for launch in using:
        kernel = source.kernel(launch.kernel)
        if kernel is None or len(kernel.launches) != 1 or kernel.template is not None:
            return []
        if source.block_of(launch)[1:] != (1, 1):  # several threads are the first along x
            return []
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
            name = squeezed(argument)
            if name not in names:
                continue
            places = [a for a in kernel.accesses if a.root == parameter.name]
            if not places or any(a.index != {("blockIdx.x",): 1} for a in places):
                return []
            if name not in written:
                added = _added(kernel, parameter.name)
                if added is None or len(places) != 1:
                    return []
                edits.append(added)
                written.add(name)
            elif parameter.name in kernel.written_roots:
                return []
    return edits


def _parts(host: Node, clearing: Node, cleared: str) -> set[str]:
    """Return the variables that point into the buffer of a call; none if it is used for more than launches."""
    workspace = [p for p in walk(host) if p.type == "parameter_declaration" and squeezed(p).startswith("void*")]
    names = {declared_name(workspace[0])} if len(workspace) == 1 else set()
    allowed = [clearing, *workspace]
    for node in walk(host):
        if node.type == "init_declarator" and "*" in text(node.child_by_field_name("declarator")):
            value = node.child_by_field_name("value")
            if {text(n) for n in walk(value) if n.type == "identifier"} & names if value is not None else False:
                names.add(declared_name(node))
                allowed.append(node)
    launches = [n for n in walk(host) if n.type == "call_expression" and "<<<" in text(n)]
    for node in walk(host):
        if node.type == "identifier" and text(node) in names and not any(within(node, a) for a in allowed + launches):
            return set()
    return names if cleared in names else set()


def _same(launch: Launch, first: Launch, stream: str, body: Node | None, clearing: Node) -> bool:
    """Return whether a launch is a statement of the function's body after the clearing, with the first one's grid."""
    place = launch.statement.parent
    at_top = body is not None and place is not None and id_of(place) == id_of(body)
    cleared_at_top = clearing.parent is not None and body is not None and id_of(clearing.parent) == id_of(body)
    grids = squeezed(launch.configuration[0]), squeezed(first.configuration[0])
    later = launch.statement.type == "expression_statement" and clearing.end_byte <= launch.statement.start_byte
    return at_top and cleared_at_top and later and grids[0] == grids[1] and launch.stream == stream


def _added(kernel: Kernel, target: str) -> tuple[int, int, str] | None:
    """Return the edit of `if (threadIdx.x == 0) atomicAdd(&target[blockIdx.x], value);` at a kernel's end."""
    last = kernel.statements[-1] if kernel.statements else None
    found = re.fullmatch(
        rf"if\(threadIdx\.x==0\)atomicAdd\(&{re.escape(target)}\[blockIdx\.x\],(\w+)\);", squeezed(last)
    )
    code = code_only(text(kernel.body))
    if found is None or last is None or "return" in code or len(re.findall(rf"\b{target}\b", code)) != 1:
        return None
    if kernel.uses("threadIdx.y", "threadIdx.z", "blockIdx.y", "blockIdx.z"):
        return None
    return last.start_byte, last.end_byte, f"if (threadIdx.x == 0) {target}[blockIdx.x] = {found[1]};"


def _statement(node: Node) -> Node:
    up = node
    while up.parent is not None and up.parent.type != "compound_statement":
        up = up.parent
    return up
