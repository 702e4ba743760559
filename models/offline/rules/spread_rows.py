"""Rows that one block each goes along, shared by several blocks."""

from __future__ import annotations

from typing import ClassVar

from ..emit import BLOCKS_UP_TO, configuration_edits, helper_name, on_host, with_helper
from ..loops import ParallelLoop, for_parts, independent, parallel_loops
from ..rule import KernelRule, Setting
from ..syntax import Kernel, Launch, edited, shows, squeezed, text, walk, within

ENOUGH = 8
"""Blocks to each multiprocessor: more bring nothing."""


class SpreadRows(KernelRule):
    """A loop of a block over its row: let the blocks along y share it."""

    name: ClassVar[str] = "spread_rows"
    answers: ClassVar[tuple[str, ...]] = ("too_few_blocks", "low_occupancy", "stall_mix")
    worth: ClassVar[float] = 1.42
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "there is one block to a row, and with few or long rows that leaves multiprocessors idle: share each row "
        "among as many blocks along y as fill the device"
    )
    effect: ClassVar[str] = "all multiprocessors have work whatever the number of rows"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Share a row between the blocks along y."""
        source = kernel.source
        loops = [item for item in parallel_loops(kernel) if item.form == "block"]
        if len(loops) != 1 or not kernel.launches or kernel.cooperates or not kernel.uses("blockIdx.x"):
            return None
        if kernel.uses("blockIdx.y", "gridDim.y", "threadIdx.y") or not self._alone(kernel, loops[0]):
            return None
        loop = loops[0]
        initializer, update = loop.node.child_by_field_name("initializer"), loop.node.child_by_field_name("update")
        assert initializer is not None
        assert update is not None
        name = loop.variable
        start = f"long long {name} = blockIdx.y * (long long)blockDim.x + threadIdx.x;"
        edits = [
            (initializer.start_byte, initializer.end_byte, start),
            (update.start_byte, update.end_byte, f"{name} += (long long)gridDim.y * blockDim.x"),
        ]
        blocks_up_to = helper_name(source, "blocks_up_to", BLOCKS_UP_TO)
        for launch in kernel.launches:
            length = on_host(kernel, launch, text(loop.bound))
            if length is None or source.grid_of(launch)[1:] != (1, 1) or source.block_of(launch)[1:] != (1, 1):
                return None
            if any(la.kernel != kernel.name and _setup(la) == _setup(launch) for la in source.launches):
                return None  # kernels on one grid may become one launch, which is worth more
            grid, block = (text(n) for n in launch.configuration[:2])
            most = f"{ENOUGH * setting.multiprocessors} / ({grid}) + 1"
            tall = f"{blocks_up_to}({length}, 4 * ({block}), {most})"
            edits += configuration_edits(launch, grid=f"dim3({grid}, {tall})")
        return with_helper(edited(source.text, edits), blocks_up_to, BLOCKS_UP_TO)

    @staticmethod
    def _alone(kernel: Kernel, loop: ParallelLoop) -> bool:
        """Return whether the loop's turns are independent, blocks have rows of their own, and all writing is in it."""
        inside = all(any(within(a.node, n) for n in loop.body) for a in kernel.accesses if a.written)
        rows = _rows(kernel)
        own = all(any(shows(a.index, name) for name in rows) for a in kernel.accesses if a.written)
        returns = any(n.type in ("return_statement", "break_statement") for n in walk(kernel.body))
        return inside and own and not returns and independent(loop)


def _setup(launch: Launch) -> list[str]:
    return [squeezed(n) for n in launch.configuration]


def _rows(kernel: Kernel) -> set[str]:
    """Return the loop variables that start at the block's number."""
    found = {"blockIdx.x"}
    for node in walk(kernel.body):
        parts = for_parts(node) if node.type == "for_statement" else None
        if parts is not None and kernel.poly(parts[2]) == {("blockIdx.x",): 1}:
            found.add(parts[0])
    return found
