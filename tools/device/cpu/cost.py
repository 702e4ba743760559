"""The cpu device's cost model: from counters and a GPU's description to an estimated time.

A launch costs its overhead plus the largest of its resources, softened where several are nearly as large:

* issue: warp instructions over four schedulers per multiprocessor in use;
* latency: what one warp waits for in a row, times the waves of blocks: few threads can't hide it;
* DRAM: distinct bytes over the bandwidth, as far as the memory requests in flight can use it;
* L2: sectors that leave the L1, over the L2's and over each multiprocessor's own share of bandwidth;
* L1: cache lines looked up, one per clock and multiprocessor; shared memory: wavefronts, likewise;
* atomics: serialised at one address, else over the L2's atomic units.

Registers, instruction mix and clocks under load are unknown here, so this ranks kernels; it does not predict them.
The constants are of an H200 and were set from its measured times (`CALIBRATION`).
"""

from __future__ import annotations

import math
from typing import Final

from ...records import Record
from ..gpu_model import WARP, GpuModel
from .counters import Counters, LaunchCounters

CALIBRATION: Final = "Nsight Compute and event times of plain kernels on one H200"

NEXT_LAUNCH_US: Final = 1.1
"""From the end of one kernel in a stream to the start of the next."""
RAMP_US: Final = 0.7
"""Until a grid's blocks run and its last stores are out."""
ALLOCATION_US: Final = 60.0
"""cudaMalloc and cudaFree inside a call, which also synchronize."""
SYNCHRONIZE_US: Final = 8.0
SECTOR_ATOMIC_NS: Final = 1.77
"""One more atomic in the same 32 bytes: 262,144 of them take 463 us, 1,048,576 take 1,843 us."""
ATOMIC_SECTORS_PER_CLOCK: Final = 40.0
DRAM_LATENCY_CYCLES: Final = 760.0
LOADED_LATENCY_CYCLES: Final = 14.0
"""More per resident warp, averaged over all multiprocessors: they queue for the same memory."""
L2_LATENCY_CYCLES: Final = 280.0
L1_LATENCY_CYCLES: Final = 40.0
SHARED_LATENCY_CYCLES: Final = 15.0
"""Per request of one warp, half hidden behind its others."""
SHARED_ATOMIC_LATENCY_CYCLES: Final = 60.0
WARP_OP_CYCLES: Final = 26.0
BARRIER_CYCLES: Final = 40.0
GRID_BARRIER_US: Final = 1.5
UNROLL: Final = 4.0
"""Iterations of a loop that the compiler loads ahead, where no store is in the way."""
L2_BYTES_PER_CLOCK_PER_SM: Final = 64.0
L2_GBPS: Final = 5500.0
PARTIAL_STORE: Final = 2.4
"""A store of part of a sector costs the L2 up to so much more."""
DRAM_EFFICIENCY: Final = 0.92
WARP_INSTRUCTIONS: Final = 14.0
"""Per warp, whatever it does: indices, bounds, exit."""
REQUEST_INSTRUCTIONS: Final = 5.0
"""Per load or store of a warp: itself, its address and the arithmetic on its value."""
WARP_OP_INSTRUCTIONS: Final = 3.0
ISSUE_CYCLES: Final = 5.0
"""Between two dependent instructions of one warp."""
SHARED_ATOMIC_CYCLES: Final = 4.0
SOFTNESS: Final = 3.0


class LaunchCost(Record):
    """Where the estimated time of one launch goes, microseconds. `time_us` excludes the launch overhead."""

    time_us: float
    issue_us: float
    latency_us: float
    dram_us: float
    l2_us: float
    l1_us: float
    shared_us: float
    atomic_us: float


def launch_cost(launch: LaunchCounters, gpu: GpuModel) -> LaunchCost:
    """Estimate one launch."""
    clock = gpu.sm_clock_mhz  # cycles per microsecond
    warps_per_block = math.ceil(launch.threads_per_block / WARP)
    warps = warps_per_block * launch.blocks
    resident = resident_blocks(launch, gpu)
    busy = min(launch.blocks, gpu.multiprocessors)
    waves = math.ceil(launch.blocks / (gpu.multiprocessors * resident))

    loads = launch.total("requests", "global", write=False)
    stores = launch.total("requests", "global", write=True)
    atomics = launch.total("requests", "global", atomic=True)
    shared = launch.total("requests", "shared", atomic=None)
    instructions = (
        WARP_INSTRUCTIONS * warps
        + REQUEST_INSTRUCTIONS * (loads + stores + atomics + shared)
        + WARP_OP_INSTRUCTIONS * launch.warp_ops
        + 2.0 * launch.barriers * warps_per_block
    )
    issue = instructions / (4.0 * busy) / clock

    fresh = launch.total("missed_sectors", "global", write=False)
    load_sectors = launch.total("sectors", "global", write=False)
    store_sectors = launch.total("sectors", "global", write=True)
    stored = sum(s.accesses * s.bytes for s in launch.sites if s.space == "global" and s.write and not s.atomic)
    filled = min(1.0, stored / (32.0 * store_sectors)) if store_sectors else 1.0
    l2_bytes = 32.0 * (fresh + store_sectors * (1.0 + PARTIAL_STORE * (1.0 - filled) ** 4))
    l2 = max(l2_bytes / (L2_GBPS * 1e3), l2_bytes / busy / (L2_BYTES_PER_CLOCK_PER_SM * clock))

    # With a cold L2 full of other data, what is written pushes as many bytes out. What this call touched before is
    # still in the L2, as far as that is large enough.
    footprint = launch.read_bytes + launch.write_bytes
    dram_bytes = launch.cold_read_bytes + launch.cold_write_bytes
    dram_bytes += max(0.0, min(footprint - gpu.l2_bytes, footprint - dram_bytes))
    dram = dram_bytes / (gpu.dram_gbps * DRAM_EFFICIENCY * 1e3)

    l1 = launch.total("cache_lines", "global", atomic=None) / busy / clock
    wavefronts = launch.total("wavefronts", "shared", atomic=None) + SHARED_ATOMIC_CYCLES * launch.shared_atomics / WARP
    shared_time = wavefronts / busy / clock

    # What one warp waits for in a row. Loads overlap up to the next barrier, and up to the next store that might
    # change what they read.
    ahead = UNROLL * min(launch.load_positions, UNROLL)
    groups = launch.load_groups + launch.store_groups / (1.0 if not launch.unaliased else UNROLL)
    rounds = max(groups / launch.threads, math.ceil(loads / warps / ahead)) if loads else 0.0
    ahead = loads / warps / rounds if loads else 1.0
    fresh_share = fresh / load_sectors if load_sectors else 0.0
    from_dram = min(1.0, launch.cold_read_bytes / (32.0 * fresh)) if fresh else 0.0
    resident_warps = min(resident * warps_per_block, warps / busy) * busy / gpu.multiprocessors
    missed = (
        from_dram * (DRAM_LATENCY_CYCLES + LOADED_LATENCY_CYCLES * resident_warps)
        + (1.0 - from_dram) * L2_LATENCY_CYCLES
    )
    missing = min(1.0, fresh_share * max(1.0, ahead / 2.0))
    load_latency = missing * missed + (1.0 - missing) * L1_LATENCY_CYCLES
    per_warp = (
        ISSUE_CYCLES * instructions / warps
        + load_latency * rounds
        + SHARED_LATENCY_CYCLES * shared / warps
        + SHARED_ATOMIC_LATENCY_CYCLES * launch.total("requests", "shared", atomic=True) / warps
        + WARP_OP_CYCLES * launch.warp_ops / warps
        + BARRIER_CYCLES * launch.barriers / launch.blocks
    )
    latency = waves * per_warp / clock + launch.grid_barriers * GRID_BARRIER_US

    sectors = launch.total("sectors", "global", atomic=True)
    atomic = max(launch.same_slice_atomics * SECTOR_ATOMIC_NS * 1e-3, sectors / ATOMIC_SECTORS_PER_CLOCK / clock)
    shared_time += launch.shared_same_address_atomics * waves * SHARED_ATOMIC_CYCLES / clock
    parts = (issue, latency, dram, l2, l1, shared_time)
    # Atomics come at the end of most kernels, when the rest is done.
    time = RAMP_US + sum(part**SOFTNESS for part in parts) ** (1.0 / SOFTNESS) + atomic
    return LaunchCost(
        time_us=time, issue_us=issue, latency_us=latency,
        dram_us=dram, l2_us=l2, l1_us=l1, shared_us=shared_time, atomic_us=atomic,
    )  # fmt: skip


def resident_blocks(launch: LaunchCounters, gpu: GpuModel) -> int:
    """Blocks of a launch that fit on one multiprocessor, as far as threads and shared memory say."""
    threads = math.ceil(launch.threads_per_block / WARP) * WARP
    each = launch.dynamic_bytes + launch.static_bytes + gpu.shared_bytes_reserved
    return max(1, min(gpu.threads_per_sm // threads, gpu.blocks_per_sm, gpu.shared_bytes_per_sm // each))


def call_cost_us(counters: Counters, gpu: GpuModel, *, floor_us: float = 0.0) -> float:
    """Estimate one call of the entry function, in microseconds: all its launches, copies and allocations.

    `floor_us` is what no kernel can beat: compulsory bytes and operations over the GPU's rates.
    """
    work = sum(launch_cost(launch, gpu).time_us for launch in counters.launches)
    steps = len(counters.launches) + counters.copies
    gaps = max(0, steps - 1) * NEXT_LAUNCH_US
    host = counters.allocations * ALLOCATION_US + counters.synchronizations * SYNCHRONIZE_US
    return gpu.empty_launch_us + max(work, floor_us) + gaps + host


def floor_us(min_bytes: int, min_flops: int, gpu: GpuModel, *, tensor_cores: bool = False) -> float:
    """Return the time that compulsory bytes and operations take at the GPU's peak rates, microseconds."""
    rate = gpu.bf16_tensor_tflops if tensor_cores else gpu.fp32_tflops
    return max(min_bytes / (gpu.dram_gbps * 1e3), min_flops / (rate * 1e6))
