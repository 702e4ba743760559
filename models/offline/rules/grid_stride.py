"""Work that one block does, or that every block does again, spread over the grid."""

from __future__ import annotations

from typing import ClassVar

from ..emit import BLOCKS_FOR, configuration_edits, helper_name, on_host, with_helper
from ..loops import ParallelLoop, independent, parallel_loops
from ..rule import KernelRule, Setting
from ..syntax import Kernel, Launch, Source, edited, text
from ..tuning import tunable

THREADS = (256, 128, 512, 1024)
"""Threads of a block after the change: enough to fill a multiprocessor with several blocks."""


class GridStride(KernelRule):
    """A loop that strides by one block: let the blocks share it."""

    name: ClassVar[str] = "grid_stride_full_grid"
    answers: ClassVar[tuple[str, ...]] = ("too_few_blocks", "redundant_threads", "low_occupancy")
    worth: ClassVar[float] = 20.0
    metric: ClassVar[str] = "duration_us"
    why: ClassVar[str] = (
        "the loop strides by the size of one block, so a single multiprocessor does all the work (or every block "
        "repeats it): start at the global index, stride by the whole grid, and launch enough blocks"
    )
    effect: ClassVar[str] = "all multiprocessors share the work"

    def rewrite(self, kernel: Kernel, setting: Setting) -> str | None:
        """Start at the global index, stride by the whole grid, and launch enough blocks."""
        source = kernel.source
        loop = next((item for item in parallel_loops(kernel) if item.top and item.form == "block"), None)
        if loop is None or not kernel.launches or kernel.uses("blockIdx", "gridDim") or not independent(loop):
            return None
        if any(n.start_byte > loop.node.start_byte for n in kernel.statements) or kernel.uses(
            "threadIdx.y", "threadIdx.z"
        ):
            return None
        kind = loop.type if loop.type in ("long long", "size_t") else "long long"
        initializer, update = loop.node.child_by_field_name("initializer"), loop.node.child_by_field_name("update")
        assert initializer is not None
        assert update is not None
        name = loop.variable
        edits = [
            (
                initializer.start_byte,
                initializer.end_byte,
                f"{kind} {name} = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
            ),
            (update.start_byte, update.end_byte, f"{name} += (long long)gridDim.x * blockDim.x"),
        ]
        # Every place is written once now: what was volatile because all blocks wrote it need not be.
        for parameter in kernel.parameters:
            if parameter.volatile and parameter.pointer:
                plain = text(parameter.node).replace("volatile ", "", 1)
                edits.append((parameter.node.start_byte, parameter.node.end_byte, plain))
        blocks_for = helper_name(source, "blocks_for", BLOCKS_FOR)
        threads, threads_line = tunable(source, "threads_of_block", THREADS)
        for launch in kernel.launches:
            sized = self._sizes(source, kernel, launch, loop, blocks_for, threads)
            if sized is None:
                return None
            edits += sized
        return with_helper(with_helper(edited(source.text, edits), threads, threads_line), blocks_for, BLOCKS_FOR)

    def _sizes(
        self, source: Source, kernel: Kernel, launch: Launch, loop: ParallelLoop, blocks_for: str, threads: str
    ) -> list[tuple[int, int, str]] | None:
        count = on_host(kernel, launch, text(loop.bound))
        block = source.block_of(launch)
        if count is None or block[0] is None or block[1:] != (1, 1):
            return None
        return configuration_edits(launch, grid=f"{blocks_for}({count}, {threads})", block=threads)
