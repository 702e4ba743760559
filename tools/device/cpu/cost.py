"""The cpu device's cost model: from counters and a GPU's description to an estimated time.

A multiprocessor works on its resident blocks at once. Each block needs every pipe for a while, and each warp of it
waits for what it has asked for:

* pipes: instruction issue (4 warp instructions per clock), double precision, special functions, integers, and the one
  data pipe of L1 and shared memory (one wavefront per clock: a pass through the banks);
* latency: rounds of loads that are in flight together, each as long as the slowest of them (L1, L2, DRAM); shared
  memory, shuffles, barriers and dependent arithmetic in a row.

With many resident blocks the pipes set the pace; with few, a block's latency and its work add up. All multiprocessors
share the L2 and DRAM: sectors that miss the L1 (traced through a cache of its size), and distinct bytes. The launch
takes the largest of these, softened where several are nearly as large, after it has ramped up; atomics on one sector go
one after another.

Registers are known only where nvcc is, and clocks under load are not: this ranks kernels, it does not predict them.
Constants without another source were set from `CALIBRATION`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from ...records import Record
from ..gpu_model import WARP, GpuModel
from .counters import Counters, LaunchCounters
from .instructions import Mix

CALIBRATION: Final = "event times of half of the variants in tests/data/timed on one H200"

NEXT_LAUNCH_US: Final = 1.1
"""From the end of one kernel in a stream to the start of the next."""
FIRST_LAUNCH_US: Final = 1.8
"""More for the first launch of a call: its code and its arguments are in no cache."""
RAMP_US: Final = 0.7
"""Until a grid's blocks run and its last stores are out."""
ALLOCATION_US: Final = 60.0
"""cudaMalloc and cudaFree inside a call, which also synchronize."""
SYNCHRONIZE_US: Final = 8.0

# Latencies, in cycles.
DRAM_LATENCY: Final = 830.0
DRAM_QUEUE: Final = 6.0
"""More per resident warp, averaged over all multiprocessors: they queue for the same memory."""
L2_LATENCY: Final = 360.0
L1_LATENCY: Final = 38.0
SHARED_LATENCY: Final = 28.0
SHARED_ATOMIC_LATENCY: Final = 60.0
ARITHMETIC_LATENCY: Final = 4.0
WARP_OP_LATENCY: Final = 26.0
BARRIER_LATENCY: Final = 40.0
GRID_BARRIER_US: Final = 1.5

LOADS_IN_FLIGHT: Final = 12.0
"""Of one warp, where neither a barrier nor a store that might alias is between them: nvcc unrolls loops that far."""
SHARED_IN_FLIGHT: Final = 6.0
ARITHMETIC_IN_FLIGHT: Final = 2.0

# Instructions of a GPU that have no equal in the host's code, or the other way round.
WARP_INSTRUCTIONS: Final = 10.0
"""Per warp, whatever it does: indices, bounds, exit."""
UNROLLED_CONTROL: Final = 0.15
"""Of the host's branches remain, once nvcc has unrolled loops."""
LOOP_INTEGERS: Final = 2.0
"""Of the host's integer instructions belong to each branch, and go with it: counting and comparing."""
WARP_OP_INSTRUCTIONS: Final = 3.0
SHARED_ATOMIC_CYCLES: Final = 3.0

ISSUE_PER_CLOCK: Final = 4.0
SPECIAL_PER_CLOCK: Final = 0.5
INTEGER_PER_CLOCK: Final = 2.0
L2_BYTES_PER_CLOCK_PER_SM: Final = 64.0
L2_GBPS: Final = 5300.0
PARTIAL_STORE: Final = 2.1
"""A store of part of a sector costs the L2 up to so much more."""
DRAM_EFFICIENCY: Final = 0.92
SLICE_FLOAT_ATOMIC_NS: Final = 1.77
"""One more of a thread's on the same 256 bytes: 262,144 on one address take 463 us, 1,048,576 on four 1,843 us."""
SLICE_INTEGER_ATOMIC_NS: Final = 0.85
"""The same of a warp's, one for each sector and each lane on one address."""
REPEATED_ATOMICS_PER_NS: Final = 4.2
"""Lanes of a warp that follow another lane on the same address, over the whole GPU."""
ATOMIC_SECTORS_PER_CLOCK: Final = 40.0

BLOCKS_PER_CLOCK: Final = 0.8
"""Blocks that the whole GPU starts per clock."""

SOFTNESS: Final = 3.0
OVERLAP: Final = 1.4
"""The same between a multiprocessor's latency and its pipes: they hide behind each other less."""


class LaunchCost(Record):
    """Where the estimated time of one launch goes, microseconds. `time_us` excludes the launch overhead."""

    time_us: float
    issue_us: float
    fp32_us: float
    fp64_us: float
    special_us: float
    integer_us: float
    l1_us: float
    """Wavefronts of global and shared memory, which share a pipe."""
    shared_us: float
    """The wavefronts alone."""
    latency_us: float
    l2_us: float
    dram_us: float
    atomic_us: float


def launch_cost(launch: LaunchCounters, gpu: GpuModel) -> LaunchCost:
    """Estimate one launch."""
    clock = gpu.sm_clock_mhz  # cycles per microsecond
    busy = min(launch.blocks, gpu.multiprocessors)
    turns = math.ceil(launch.blocks / gpu.multiprocessors)  # blocks of the busiest multiprocessor
    together = min(turns, resident_blocks(launch, gpu))
    waves = turns / together

    pipes = _pipe_cycles(launch, gpu)  # of one block
    latency = _block_latency(launch, gpu, waves, together)
    dispatch = launch.blocks / BLOCKS_PER_CLOCK
    multiprocessor = waves * _soft((latency, together * _soft(pipes.values(), SOFTNESS)), OVERLAP)

    stored = sum(s.accesses * s.bytes for s in launch.sites if s.space == "global" and s.write and not s.atomic)
    store_sectors = launch.total("sectors", "global", write=True)
    filled = min(1.0, stored / (32.0 * store_sectors)) if store_sectors else 1.0
    missed = launch.total("missed_sectors", "global", write=False)
    l2_bytes = 32.0 * (missed + store_sectors * (1.0 + PARTIAL_STORE * (1.0 - filled) ** 4))
    l2 = max(l2_bytes / (L2_GBPS * 1e3), l2_bytes / busy / (L2_BYTES_PER_CLOCK_PER_SM * clock))

    # With a cold L2 full of other data, what is written pushes as many bytes out. What this call touched before is
    # still in the L2, as far as that is large enough.
    footprint = launch.read_bytes + launch.write_bytes
    dram_bytes = launch.cold_read_bytes + launch.cold_write_bytes
    dram_bytes += max(0.0, min(footprint - gpu.l2_bytes, footprint - dram_bytes))
    dram = dram_bytes / (gpu.dram_gbps * DRAM_EFFICIENCY * 1e3)

    atomic = _atomic_us(launch, clock)
    # Atomics come at the end of most kernels, when the rest is done.
    time = (
        RAMP_US
        + _soft((multiprocessor / clock, dispatch / clock, dram, l2), SOFTNESS)
        + launch.grid_barriers * GRID_BARRIER_US
    )
    per_pipe = {name: turns * cycles / clock for name, cycles in pipes.items()}
    wavefronts = launch.total("wavefronts", "shared", atomic=None) / launch.blocks
    return LaunchCost(
        time_us=time + atomic, **{f"{name}_us": value for name, value in per_pipe.items()},
        shared_us=turns * wavefronts / clock, latency_us=waves * latency / clock, l2_us=l2, dram_us=dram,
        atomic_us=atomic,
    )  # fmt: skip


def _atomic_us(launch: LaunchCounters, clock: float) -> float:
    """Atomics on global memory: one after another in the busiest slice of the L2, side by side in the others."""
    if not launch.atomics:
        return 0.0
    accesses = launch.total("accesses", "global", atomic=True)
    sectors = launch.total("sectors", "global", atomic=True)
    each = sectors / accesses if accesses else 1.0  # integers of lanes on one sector go together
    floating = launch.float_atomics / launch.atomics
    each_ns = floating * SLICE_FLOAT_ATOMIC_NS + (1.0 - floating) * each * SLICE_INTEGER_ATOMIC_NS
    repeated = launch.total("wavefronts", "global", atomic=True) - launch.total("requests", "global", atomic=True)
    return max(
        launch.same_slice_atomics * each_ns * 1e-3,
        repeated / REPEATED_ATOMICS_PER_NS * 1e-3,
        sectors / ATOMIC_SECTORS_PER_CLOCK / clock,
    )


def _soft(parts: Iterable[float], power: float) -> float:
    return math.pow(sum(part**power for part in parts), 1.0 / power)


def _pipe_cycles(launch: LaunchCounters, gpu: GpuModel) -> dict[str, float]:
    """Cycles for which one block keeps each pipe of its multiprocessor busy."""
    warps = math.ceil(launch.threads_per_block / WARP)
    mix = launch.mix or Mix()
    integer = max(0.0, mix.integer - LOOP_INTEGERS * mix.control)
    control = UNROLLED_CONTROL * mix.control
    requests = launch.total("requests", "global", atomic=None) + launch.total("requests", "shared", atomic=None)
    other = requests + WARP_OP_INSTRUCTIONS * launch.warp_ops + 2.0 * launch.barriers * warps
    arithmetic = mix.fp32 + mix.fp64 + mix.special + integer + control
    fp64_per_clock = gpu.fp64_tflops * 1e6 / (2.0 * WARP * gpu.multiprocessors * gpu.sm_clock_mhz)
    fp32_per_clock = gpu.fp32_tflops * 1e6 / (2.0 * WARP * gpu.multiprocessors * gpu.sm_clock_mhz)
    wavefronts = launch.total("wavefronts", "shared", atomic=None) + SHARED_ATOMIC_CYCLES * launch.shared_atomics / WARP
    wavefronts += launch.total("wavefronts", "global", atomic=None)
    cycles = {
        "issue": (WARP_INSTRUCTIONS * warps * launch.blocks + arithmetic + other) / ISSUE_PER_CLOCK,
        "fp32": mix.fp32 / fp32_per_clock,
        "fp64": mix.fp64 / fp64_per_clock,
        "special": mix.special / SPECIAL_PER_CLOCK,
        "integer": integer / INTEGER_PER_CLOCK,
        "l1": wavefronts,
    }
    per_block = {name: value / launch.blocks for name, value in cycles.items()}
    per_block["l1"] += launch.shared_same_address_atomics * SHARED_ATOMIC_CYCLES
    return per_block


def _block_latency(launch: LaunchCounters, gpu: GpuModel, waves: float, together: int) -> float:
    """Cycles that one warp of a block waits in a row: what its loads, its barriers and its arithmetic depend on."""
    warps = math.ceil(launch.threads_per_block / WARP) * launch.blocks
    mix = launch.mix or Mix()
    shared = launch.total("requests", "shared", write=False) / warps
    barriers = launch.barriers / launch.blocks
    arithmetic = mix.fp32 + mix.fp64 + mix.special
    return (
        _load_latency(launch, gpu, waves, together)
        + SHARED_LATENCY * max(shared / SHARED_IN_FLIGHT, min(shared, barriers))
        + SHARED_ATOMIC_LATENCY * launch.total("requests", "shared", atomic=True) / warps
        + WARP_OP_LATENCY * launch.warp_ops / warps
        + BARRIER_LATENCY * barriers
        + ARITHMETIC_LATENCY / ARITHMETIC_IN_FLIGHT * arithmetic / warps
    )


def _load_latency(launch: LaunchCounters, gpu: GpuModel, waves: float, together: int) -> float:
    """Cycles that the busiest warp waits for global memory: its rounds of loads, each as long as its slowest load."""
    per_block = math.ceil(launch.threads_per_block / WARP)
    requests = launch.total("requests", "global", write=False)
    loads = launch.busiest_loads
    if not loads or not requests:
        return 0.0
    # Between two groups lies a barrier; a store that might change what is read ends a group, too.
    in_flight = min(LOADS_IN_FLIGHT, launch.load_positions) if launch.rolled else LOADS_IN_FLIGHT
    groups = launch.load_groups + launch.store_groups / (LOADS_IN_FLIGHT if launch.unaliased else 1.0)
    rounds = min(loads, max(groups, loads / in_flight))
    together_in_flight = loads / rounds
    missing = _any_of(together_in_flight, launch.total("missed_requests", "global", write=False) / requests)
    new_line = _any_of(together_in_flight, launch.total("line_missed_requests", "global", write=False) / requests)
    # Blocks of the first wave ask for the same data at about the same time; later ones find it in the L2.
    missed_bytes = 32.0 * launch.total("missed_sectors", "global", write=False)
    cold = launch.cold_read_bytes / launch.read_bytes if launch.read_bytes else 0.0
    later = min(1.0, launch.cold_read_bytes / missed_bytes) if missed_bytes else 0.0
    from_dram = new_line * (cold / waves + min(cold, later) * (1.0 - 1.0 / waves))
    resident_warps = together * per_block * min(1.0, launch.blocks / gpu.multiprocessors)
    dram = DRAM_LATENCY + DRAM_QUEUE * resident_warps
    from_l2 = max(0.0, missing - from_dram)
    return rounds * (from_dram * dram + from_l2 * L2_LATENCY + (1.0 - from_dram - from_l2) * L1_LATENCY)


def _any_of(count: float, share: float) -> float:
    """The chance that at least one of so many is, where each is with this chance."""
    return 1.0 - math.pow(1.0 - min(1.0, share), count)


def resident_blocks(launch: LaunchCounters, gpu: GpuModel) -> int:
    """Blocks of a launch that fit on one multiprocessor, as far as threads, shared memory and known registers say."""
    warps = math.ceil(launch.threads_per_block / WARP)
    each = launch.dynamic_bytes + launch.static_bytes + gpu.shared_bytes_reserved
    fit = min(gpu.threads_per_sm // (warps * WARP), gpu.blocks_per_sm, gpu.shared_bytes_per_sm // each)
    if launch.registers:
        fit = min(fit, gpu.registers_per_sm // (warps * 256 * math.ceil(launch.registers * WARP / 256)))
    return max(1, fit)


def call_cost_us(counters: Counters, gpu: GpuModel, *, floor_us: float = 0.0) -> float:
    """Estimate one call of the entry function, in microseconds: all its launches, copies and allocations.

    `floor_us` is what no kernel can beat: compulsory bytes and operations over the GPU's rates.
    """
    work = sum(launch_cost(launch, gpu).time_us for launch in counters.launches)
    steps = len(counters.launches) + counters.copies
    gaps = max(0, steps - 1) * NEXT_LAUNCH_US
    host = counters.allocations * ALLOCATION_US + counters.synchronizations * SYNCHRONIZE_US
    first = FIRST_LAUNCH_US if counters.launches else 0.0
    return gpu.empty_launch_us + first + max(work, floor_us) + gaps + host


def floor_us(min_bytes: int, min_flops: int, gpu: GpuModel, *, tensor_cores: bool = False) -> float:
    """Return the time that compulsory bytes and operations take at the GPU's peak rates, microseconds."""
    rate = gpu.bf16_tensor_tflops if tensor_cores else gpu.fp32_tflops
    return max(min_bytes / (gpu.dram_gbps * 1e3), min_flops / (rate * 1e6))
