"""The grid doesn't fill the GPU, or its last wave doesn't."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...records import Finding
from ..finding import Rule, percent, times
from ..subject import Kernel, Subject, warps


class TooFewBlocks(Rule):
    """Multiprocessors idle: fewer blocks than them, too few warps to fill them, or a last wave that is nearly empty.

    Of a kernel's launches those count that take as few blocks as the longest, with their share of the time.
    The bound is the GPU's capacity for blocks ÷ what the grid uses of it, but no more than 100 ÷ the busiest
    throughput unless whole multiprocessors have nothing to do.
    """

    name = "too_few_blocks"
    strategies = ("grid_stride_full_grid", "smaller_blocks", "split_reduction", "persistent_blocks")
    reads = ("waves", "sm_throughput_pct", "memory_throughput_pct")
    stalls = ("long_scoreboard", "wait", "barrier")

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding per kernel."""
        for kernel in subject.kernels:
            yield from self._of(kernel, subject)

    def _of(self, kernel: Kernel, subject: Subject) -> Iterator[Finding]:
        count, place = subject.gpu.multiprocessors, kernel.occupancy
        launch = kernel.longest
        blocks, threads = math.prod(launch.grid), math.prod(launch.block)
        share = kernel.share_of_time(other for other in kernel.launches if math.prod(other.grid) <= blocks)
        if place is None or not place.blocks_per_sm:
            return
        per_wave = count * place.blocks_per_sm
        resident = blocks * warps(threads) / (count * subject.gpu.warps_per_sm)
        if blocks < count:
            idle = count / blocks
            # A block alone on its multiprocessor also has fewer warps than the multiprocessor could hold.
            gain = idle * max(1.0, min(kernel.headroom() / idle, place.blocks_per_sm))
            yield self.finding(
                f"The grid has {blocks} block{'s' if blocks > 1 else ''} for {count} multiprocessors: "
                f"{percent(1 - blocks / count)} of the GPU has nothing to do.",
                f"grid {launch.grid}, block {launch.block}, {threads * blocks} threads",
                subject.amdahl(kernel, gain, share),
                kernel,
                strategies=("grid_stride_full_grid", "smaller_blocks", "split_reduction"),
            )
        elif resident < 0.5 and blocks < per_wave:
            gain = min(1 / resident, kernel.headroom())
            yield self.finding(
                f"The grid fills {percent(resident)} of the warp slots: too little parallelism to hide latency.",
                f"{blocks} blocks of {threads} threads; {per_wave} such blocks fit at once",
                subject.amdahl(kernel, gain, share),
                kernel,
                strategies=("grid_stride_full_grid", "split_reduction", "more_loads_in_flight"),
            )
        else:
            waves = blocks / per_wave
            gain = math.ceil(waves) / waves if waves > 1 else math.ceil(blocks / count) * count / blocks
            gain = min(gain, kernel.headroom())
            if gain > 1.15:
                yield self.finding(
                    f"The last of {math.ceil(waves)} waves of blocks is nearly empty, yet takes as long as a full one.",
                    f"{blocks} blocks, {per_wave} fit at once: {waves:.2f} waves, {times(gain)}x their ideal time",
                    subject.amdahl(kernel, gain, share),
                    kernel,
                    strategies=("persistent_blocks", "smaller_blocks"),
                )
