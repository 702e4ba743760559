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

NEXT_LAUNCH_US: Final = 1.3
"""From one small kernel in a stream to the next."""
ALLOCATION_US: Final = 60.0
"""cudaMalloc and cudaFree inside a call, which also synchronize."""
SAME_ADDRESS_ATOMIC_NS: Final = 1.77
"""One more atomic at the same address: 262,144 of them take 463 us."""
ATOMIC_SECTORS_PER_CLOCK: Final = 40.0
DRAM_LATENCY_CYCLES: Final = 800.0
L2_LATENCY_CYCLES: Final = 280.0
SHARED_LATENCY_CYCLES: Final = 29.0
WARP_OP_CYCLES: Final = 26.0
BARRIER_CYCLES: Final = 40.0
LOADS_IN_FLIGHT: Final = 4.0
"""Independent loads that the compiler keeps in flight per thread in an unrolled loop."""
L2_BYTES_PER_CLOCK_PER_SM: Final = 64.0
L2_GBPS: Final = 5500.0
DRAM_EFFICIENCY: Final = 0.92
THREAD_INSTRUCTIONS: Final = 14.0
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
        THREAD_INSTRUCTIONS * warps
        + REQUEST_INSTRUCTIONS * (loads + stores + atomics + shared)
        + WARP_OP_INSTRUCTIONS * launch.warp_ops
        + 2.0 * launch.barriers * warps_per_block
    )
    issue = instructions / (4.0 * busy) / clock

    fresh = launch.total("fresh_sectors", "global", write=False)
    sectors_out = launch.total("sectors", "global", write=True)
    l2_bytes = 32.0 * (fresh + sectors_out)
    l2 = max(l2_bytes / (L2_GBPS * 1e3), l2_bytes / busy / (L2_BYTES_PER_CLOCK_PER_SM * clock))

    dram_bytes = launch.read_bytes + max(0.0, launch.write_bytes - 0.5 * gpu.l2_bytes)
    dram = dram_bytes / (gpu.dram_gbps * DRAM_EFFICIENCY * 1e3)

    lines = launch.total("cache_lines", "global", atomic=None)
    l1 = lines / busy / clock
    shared_time = (
        (launch.total("wavefronts", "shared", atomic=None) + SHARED_ATOMIC_CYCLES * launch.shared_atomics / WARP)
        / busy
        / clock
    )

    # What one warp waits for in a row. A fresh sector comes from DRAM, the others from the L1 or L2.
    load_latency = DRAM_LATENCY_CYCLES if fresh and launch.read_bytes >= 0.5 * 32 * fresh else L2_LATENCY_CYCLES
    rounds = math.ceil(loads / warps / LOADS_IN_FLIGHT) if loads else 0
    per_warp = (
        ISSUE_CYCLES * instructions / warps
        + load_latency * max(rounds, 1 if loads else 0)
        + SHARED_LATENCY_CYCLES * shared / warps / 2.0
        + WARP_OP_CYCLES * launch.warp_ops / warps
        + BARRIER_CYCLES * launch.barriers / launch.blocks
        + (L2_LATENCY_CYCLES if atomics else 0.0)
    )
    latency = waves * per_warp / clock + launch.grid_barriers * 1.5

    sectors = launch.total("sectors", "global", atomic=True)
    atomic = max(
        launch.same_address_atomics * SAME_ADDRESS_ATOMIC_NS * 1e-3,
        sectors / ATOMIC_SECTORS_PER_CLOCK / clock,
        launch.shared_same_address_atomics * waves * SHARED_ATOMIC_CYCLES / clock,
    )
    parts = (issue, latency, dram, l2, l1, shared_time, atomic)
    return LaunchCost(
        time_us=sum(part**SOFTNESS for part in parts) ** (1.0 / SOFTNESS), issue_us=issue, latency_us=latency,
        dram_us=dram, l2_us=l2, l1_us=l1, shared_us=shared_time, atomic_us=atomic,
    )  # fmt: skip


def resident_blocks(launch: LaunchCounters, gpu: GpuModel) -> int:
    """Blocks of a launch that fit on one multiprocessor, as far as threads and shared memory say (registers unknown)."""
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
    host = counters.allocations * ALLOCATION_US + counters.synchronizations * 8.0
    return gpu.empty_launch_us + max(work, floor_us) + gaps + host


def floor_us(min_bytes: int, min_flops: int, gpu: GpuModel, *, tensor_cores: bool = False) -> float:
    """Return the time that compulsory bytes and operations take at the GPU's peak rates, microseconds."""
    rate = gpu.bf16_tensor_tflops if tensor_cores else gpu.fp32_tflops
    return max(min_bytes / (gpu.dram_gbps * 1e3), min_flops / (rate * 1e6))
