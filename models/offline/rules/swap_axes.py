"""Threads along x given the fast axis of the arrays, inside the block."""

from __future__ import annotations

import re
from typing import ClassVar

from tree_sitter import Node

from ..loops import for_parts
from ..macros import expanded
from ..rule import Rule, Setting
from ..syntax import Kernel, Launch, Source, code_only, coefficient, dim3_parts, edited, reread, shows, text, walk


class SwapAxes(Rule):
    """`threadIdx.x` counts rows and `threadIdx.y` columns: exchange them, so that a warp reads a piece of one row."""

    name: ClassVar[str] = "swap_thread_axes"
    answers: ClassVar[tuple[str, ...]] = ("uncoalesced_access", "excess_traffic")
    worth: ClassVar[float] = 6.0
    metric: ClassVar[str] = "global_load_sectors"
    why: ClassVar[str] = (
        "neighbouring threads (threadIdx.x) walk along the slow axis, so every access of a warp touches as many memory "
        "sectors as it has threads: number the threads of a block so that neighbours share a row"
    )
    effect: ClassVar[str] = "a warp's access falls into a few consecutive sectors"

    def once(self, source: Source, setting: Setting) -> str | None:
        """Renumber the threads of every kernel whose axes are the wrong way round."""
        edits: list[tuple[int, int, str]] = []
        spelled = reread(source, expanded(source.text))
        wrong = {k.name for k in spelled.kernels if self._wrong(k)}
        for kernel in source.kernels:
            if kernel.name in wrong:
                edits += self._kernel(source, kernel)
        return edited(source.text, set(edits))

    @staticmethod
    def _wrong(kernel: Kernel) -> bool:
        """Return whether threadIdx.x moves far and threadIdx.y, or .z, moves by one element."""
        if not kernel.launches or kernel.meets:
            return False
        scattered = neighbours = 0
        starts = _loop_starts(kernel)
        for access in kernel.accesses:
            index = access.index
            for name, start in starts.items():
                if any(name in key for key in index):
                    factor = coefficient(index, name)
                    for axis in "xyz":
                        if (f"threadIdx.{axis}",) in start and factor:
                            for key, value in factor.items():
                                both = tuple(sorted((*key, f"threadIdx.{axis}")))
                                index = {**index, both: value}
            slow, fast = coefficient(index, "threadIdx.x"), _fast_axis(kernel)
            if fast is None:
                return False
            weight = 8 ** _depth(access.node)
            far = ["threadIdx.x", *(name for name, start in starts.items() if shows(start, "threadIdx.x"))]
            if (
                any(shows(index, name) for name in far)
                and slow != {(): 1}
                and coefficient(index, f"threadIdx.{fast}") == {(): 1}
            ):
                scattered += weight
            elif slow == {(): 1}:
                neighbours += weight
        return scattered > neighbours

    @staticmethod
    def _kernel(source: Source, kernel: Kernel) -> list[tuple[int, int, str]]:
        fast = _fast_axis(kernel)
        code = re.sub(r"\s+", "", code_only(text(kernel.body)))
        if fast is None or not all(_square_or_written(source, launch) for launch in kernel.launches):
            return []
        linear, slow_name, fast_name = (source.unique(n) for n in ("thread", "slow_thread", "fast_thread"))
        edits = []
        for node in walk(kernel.body):
            if node.type == "field_expression" and text(node) in ("threadIdx.x", f"threadIdx.{fast}"):
                edits.append((node.start_byte, node.end_byte, slow_name if text(node).endswith("x") else fast_name))
        if fast == "z":
            middle = "threadIdx.y" in code
            if middle:
                middle_name = source.unique("middle_thread")
                edits += [
                    (n.start_byte, n.end_byte, middle_name)
                    for n in walk(kernel.body)
                    if n.type == "field_expression" and text(n) == "threadIdx.y"
                ]
                head = (
                    f"\n    // Neighbouring threads along the fast axis.\n"
                    f"    const unsigned {linear} = "
                    f"(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
                    f"    const unsigned {fast_name} = {linear} % blockDim.z;\n"
                    f"    const unsigned {middle_name} = {linear} / blockDim.z % blockDim.y;\n"
                    f"    const unsigned {slow_name} = {linear} / blockDim.z / blockDim.y;"
                )
            else:
                return []
        else:
            head = (
                f"\n    // Neighbouring threads along the fast axis.\n"
                f"    const unsigned {linear} = threadIdx.y * blockDim.x + threadIdx.x;\n"
                f"    const unsigned {fast_name} = {linear} % blockDim.y, {slow_name} = {linear} / blockDim.y;"
            )
        edits.append((kernel.body.start_byte + 1, kernel.body.start_byte + 1, head))
        for launch in kernel.launches:
            edits += _wider(source, launch, fast)
        return edits


def _depth(node: Node | None) -> int:
    """Return how many loops an access is in."""
    depth = 0
    while node is not None and node.parent is not None:
        body = node.parent.child_by_field_name("body") if node.parent.type == "for_statement" else None
        depth += body is not None and body.id == node.id
        node = node.parent
    return depth


def _loop_starts(kernel: Kernel) -> dict[str, dict[tuple[str, ...], int]]:
    """Return loop variables that start at a thread's index."""
    found = {}
    for node in walk(kernel.body):
        if node.type == "for_statement" and (parts := for_parts(node)) is not None:
            start = kernel.poly(parts[2])
            if any("threadIdx" in atom for key in start for atom in key):
                found[parts[0]] = start
    return found


def _fast_axis(kernel: Kernel) -> str | None:
    return "z" if kernel.uses("threadIdx.z") else "y" if kernel.uses("threadIdx.y") else None


def _square_or_written(source: Source, launch: Launch) -> bool:
    """Return whether a launch's block is known."""
    return None not in source.block_of(launch)


def _wider(source: Source, launch: Launch, fast: str) -> list[tuple[int, int, str]]:
    """Make a square block's fast side a warp wide, where the grid is computed from the block's own sides."""
    parts = dim3_parts(launch.configuration[1], launch.host)
    block = source.block_of(launch)
    if parts is None or fast != "y" or len(parts) != 2 or block[:2] != (16, 16):
        return []
    name = text(launch.configuration[1])
    grid = dim3_parts(launch.configuration[0], launch.host)
    if grid is None or len(grid) != 2 or not re.fullmatch(r"\w+", name):
        return []
    follows = all(f"{name}.{axis}" in text(part) for axis, part in zip("xy", grid, strict=True))
    if not follows or any(text(la.configuration[1]) != name for la in source.launches):
        return []
    return [(parts[0].start_byte, parts[0].end_byte, "8"), (parts[1].start_byte, parts[1].end_byte, "32")]
