"""Theoretical occupancy: how many warps of a kernel fit on a multiprocessor, and what stops more."""

from __future__ import annotations

from typing import Final

from ..device.gpu_model import WARP, GpuModel
from ..records import Record

_REGISTERS_STEP: Final = 256
"""Registers are handed out to a warp in steps of this many."""
_WARPS_STEP: Final = 4
"""Warps share a multiprocessor's register file in steps of this many."""
_SHARED_STEP: Final = 128
"""Shared memory is handed out to a block in steps of this many bytes."""


class Occupancy(Record):
    """Blocks and warps of one kernel that fit on a multiprocessor."""

    blocks_per_sm: int
    warps_per_sm: int
    pct: float
    """Warps that fit, of the maximum."""
    limiter: str
    """What stops more blocks: registers, shared memory, blocks, or warps (the maximum)."""
    limits: dict[str, int]
    """Blocks per multiprocessor that each resource allows."""


def occupancy(threads_per_block: int, registers: int, shared_bytes: int, gpu: GpuModel) -> Occupancy:
    """Return the theoretical occupancy.

    Args:
        threads_per_block: as launched.
        registers: per thread, as ptxas says; 0 if unknown (no limit).
        shared_bytes: per block, static and dynamic, without the driver's own.
        gpu: the limits.

    Raises:
        ValueError: a block has no threads, or more than 1024.
    """
    if not 1 <= threads_per_block <= 1024:
        raise ValueError(f"a block of {threads_per_block} threads can't be launched: 1 to 1024")
    warps = -(-threads_per_block // WARP)
    limits = {"warps": gpu.warps_per_sm // warps, "blocks": gpu.blocks_per_sm}
    if registers:
        per_warp = -(-registers * WARP // _REGISTERS_STEP) * _REGISTERS_STEP
        limits["registers"] = gpu.registers_per_sm // per_warp // _WARPS_STEP * _WARPS_STEP // warps
    block_bytes = -(-(shared_bytes + gpu.shared_bytes_reserved) // _SHARED_STEP) * _SHARED_STEP
    limits["shared memory"] = gpu.shared_bytes_per_sm // block_bytes
    limiter = min(limits, key=lambda name: limits[name])
    blocks = limits[limiter]
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        pct=100 * blocks * warps / gpu.warps_per_sm,
        limiter=limiter,
        limits=limits,
    )
