"""Levels of butterflies that are launched one by one: a block does the short ones alone."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..emit import BLOCKS_FOR, dedented, helper_name, indented, on_host, with_helper
from ..loops import ParallelLoop, effects_known, parallel_loops
from ..rule import KernelRule, Setting, distinct_arguments
from ..spelling import plain
from ..syntax import Kernel, Launch, Poly, add, assigned_names, edited, squeezed, text

THREADS = 1024
"""Butterflies of a block, each of two elements: the levels with halves up to this number stay inside it."""


class FuseLevels(KernelRule):
    """A launch for every level: those whose partners are close to one another need no more than a barrier."""

    name: ClassVar[str] = "fuse_levels"
    answers: ClassVar[tuple[str, ...]] = ("fusible_launches", "launch_or_sync_bound", "too_few_blocks", "stall_mix")
    worth: ClassVar[float] = 4.0
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "each level of butterflies is a launch of its own, and at the first ones partners lie close together: one "
        "block does all levels up to its own width, with a barrier between them"
    )
    effect: ClassVar[str] = "one launch instead of eleven"

    def spelled(self, code: str) -> str:
        """Write out macros and small helpers."""
        return plain(code)

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Run the levels within a tile in one launch, in shared memory."""
        source = kernel.source
        guard = next((item for item in parallel_loops(kernel) if item.form == "guard" and item.top), None)
        if guard is None or guard.declaration is None or kernel.cooperates or kernel.template is not None:
            return None
        if len(kernel.launches) != 1 or not distinct_arguments(kernel) or not effects_known(guard):
            return None
        if guard.leaves("return_statement") or kernel.uses("gridDim") or guard.carried:
            return None
        launch = kernel.launches[0]
        levels = _levels(kernel, launch)
        if levels is None or not butterflies(kernel, guard, levels[1]):
            return None
        loop, half, bound = levels
        items = on_host(kernel, launch, text(guard.bound))
        if items is None or launch.host is None or text(launch.host.child_by_field_name("type")) != "cudaError_t":
            return None
        level, tile, step = source.unique("level"), source.unique("level_tile"), source.unique("step")
        listed = ", ".join(" ".join(text(p.node).split()) for p in kernel.parameters)
        names = [p.name for p in kernel.parameters]
        thread = "blockIdx.x * (long long)blockDim.x + threadIdx.x"
        before = [n for n in kernel.statements if n.start_byte < guard.node.start_byte and n != guard.declaration]
        body = "\n".join(dedented(text(n)) for n in (*before, *guard.body))
        index = guard.variable
        parameter = kernel.parameter(half)
        assert parameter is not None
        kernels = f"""\
static __device__ __forceinline__ void {level}(long long {index}, {listed}) {{
    if ({index} >= {text(guard.bound)}) return;
{indented(body, 4)}
}}

__global__ void {kernel.name}({listed}) {{
    {level}({thread}, {", ".join(names)});
}}

// The levels whose butterflies lie within {2 * THREADS} neighbouring elements.
__global__ void {tile}({listed}) {{
    for ({parameter.type} {step} = {half}; {step} < {bound} && {step} <= {THREADS}; {step} *= 2) {{
        {level}({thread}, {", ".join(step if n == half else n for n in names)});
        __syncthreads();
    }}
}}"""
        blocks_for = helper_name(source, "blocks_for", BLOCKS_FOR)
        arguments = ", ".join("1" if n == half else text(a) for n, a in zip(names, launch.arguments, strict=True))
        rest = "".join(f", {text(n)}" for n in launch.configuration[2:])
        failed = source.unique("launch_error")
        ahead = (
            f"{tile}<<<{blocks_for}({items}, {THREADS}), {THREADS}{rest}>>>({arguments});\n"
            f"if (const cudaError_t {failed} = cudaGetLastError(); {failed} != cudaSuccess) return {failed};\n"
        )
        start = loop.child_by_field_name("initializer")
        value = start.child_by_field_name("declarator") if start is not None else None
        number = value.child_by_field_name("value") if value is not None else None
        assert number is not None
        edits = [
            (kernel.outer.start_byte, kernel.outer.end_byte, kernels),
            (loop.start_byte, loop.start_byte, indented(ahead, 4).lstrip() + "    "),
            (number.start_byte, number.end_byte, str(2 * THREADS)),
        ]
        return with_helper(edited(source.text, edits), blocks_for, BLOCKS_FOR)


def butterflies(kernel: Kernel, guard: ParallelLoop, half: str) -> bool:
    """Return whether item i touches of all that is written only 2·half·(i / half) + i % half, and half after it."""
    i = guard.variable
    base: Poly = {(f"{i}/{half}", half): 2, (f"{i}%{half}",): 1}
    places: list[Poly] = [{tuple(sorted(k)): v for k, v in base.items()}]
    places.append(add(places[0], {(half,): 1}))
    seen = [index for root, index, *_ in guard.accesses() if root in kernel.written_roots]
    plain_atoms = [{tuple(sorted(a.replace(f"({i})", i) for a in k)): v for k, v in index.items()} for index in seen]
    roots = {root for root, *_ in guard.accesses()}
    return bool(seen) and kernel.written_roots <= roots and all(index in places for index in plain_atoms)


def _levels(kernel: Kernel, launch: Launch) -> tuple[Node, str, str] | None:
    """Return the host's loop over doubling halves, the parameter that gets the half, and the one that bounds it."""
    loop: Node | None = launch.node
    while loop is not None and loop.type != "for_statement":
        loop = loop.parent
    if loop is None:
        return None
    initializer, condition, update = (
        squeezed(loop.child_by_field_name(f)) for f in ("initializer", "condition", "update")
    )
    start = re.fullmatch(r"(?:int|unsigned|longlong|size_t)(\w+)=1;", initializer)
    limit = re.match(r"(\w+)<(\w+)(?=$|&&\w+==cudaSuccess$)", condition)
    body = loop.child_by_field_name("body")
    if start is None or limit is None or limit[1] != start[1] or body is None:
        return None
    if update != f"{start[1]}*=2" or start[1] in assigned_names(body):
        return None
    passed = {squeezed(a): p for a, p in zip(launch.arguments, kernel.parameters, strict=False)}
    half, bound = passed.get(start[1]), passed.get(limit[2])
    if half is None or bound is None or {half.name, bound.name} & kernel.assigned:
        return None
    return loop, half.name, bound.name
