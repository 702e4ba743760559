# ruff: noqa: E501 - the registry is a table and reads best with one metric a line
"""The one registry of metrics: our name, Nsight Compute's, the unit, what it means, and who can supply it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from ..records import Metric

Group = Literal["launch", "filter", "memory", "instructions", "stalls", "cpu"]
"""What is collected together. `launch` costs no counter pass; `cpu` metrics are counted by the cpu device alone."""

Total = Literal["sum", "mean", "max"]
"""How the launches of one call combine: added up, averaged weighted by time, or the largest."""


@dataclass(frozen=True)
class MetricSpec:
    """One metric. `ncu` names are tried in order: names differ between versions and architectures."""

    name: str
    ncu: tuple[str, ...]
    unit: str
    meaning: str
    group: Group
    total: Total
    cpu: bool
    """The cpu device supplies it too (counted or modelled)."""
    filtered: bool
    """The paper's filter classifies by it, or keeps it for a class."""


def _spec(
    name: str,
    ncu: str,
    unit: str,
    group: Group,
    total: Total,
    meaning: str,
    *,
    cpu: bool = False,
    filtered: bool = False,
) -> MetricSpec:
    return MetricSpec(name, tuple(ncu.split()), unit, meaning, group, total, cpu, filtered)


def _stall(reason: str, meaning: str) -> MetricSpec:
    return _spec(
        f"stall_{reason}_ratio",
        f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio",
        "warp",
        "stalls",
        "mean",
        f"Warps per issued instruction that wait: {meaning}.",
    )


PCT: Final = "%"

# fmt: off
METRICS: Final[tuple[MetricSpec, ...]] = (
    # time and the paper's filter
    _spec("duration_us", "gpu__time_duration.sum", "us", "filter", "sum", "Device time of the launch; on the cpu device its cost model's estimate.", cpu=True),
    _spec("sm_throughput_pct", "sm__throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "Compute throughput: the busiest part of the multiprocessors, of its peak.", cpu=True, filtered=True),
    _spec("memory_throughput_pct", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "Memory throughput: the busiest part of the memory system, of its peak.", cpu=True, filtered=True),
    _spec("dram_throughput_pct", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "Device memory throughput, of its peak.", cpu=True, filtered=True),
    _spec("issue_slots_busy_pct", "sm__inst_issued.avg.pct_of_peak_sustained_elapsed sm__inst_issued.avg.pct_of_peak_sustained_active", PCT, "filter", "mean", "Issue slots that issued an instruction.", filtered=True),
    _spec("executed_ipc_active", "sm__inst_executed.avg.per_cycle_active", "inst/cycle", "filter", "mean", "Instructions per cycle and multiprocessor, while it had work (peak 4).", filtered=True),
    _spec("executed_ipc_elapsed", "sm__inst_executed.avg.per_cycle_elapsed", "inst/cycle", "filter", "mean", "Instructions per cycle and multiprocessor, over the whole launch (peak 4).", filtered=True),
    _spec("sm_busy_pct", "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed sm__instruction_throughput.avg.pct_of_peak_sustained_active", PCT, "filter", "mean", "The busiest instruction pipe or the issue slots, of peak.", filtered=True),
    _spec("l2_hit_rate_pct", "lts__t_sector_hit_rate.pct", PCT, "filter", "mean", "Sectors found in the L2 cache.", filtered=True),
    _spec("l1_hit_rate_pct", "l1tex__t_sector_hit_rate.pct", PCT, "filter", "mean", "Sectors found in the L1 cache.", filtered=True),
    _spec("mem_busy_pct", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "Cycles in which caches and memory worked on accesses.", filtered=True),
    _spec("max_bandwidth_pct", "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "The busiest link between the units of the memory system.", filtered=True),
    _spec("mem_pipes_busy_pct", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed", PCT, "filter", "mean", "The multiprocessors' memory instruction pipes, of peak.", filtered=True),
    # launch
    _spec("threads", "launch__thread_count", "thread", "launch", "sum", "Threads launched.", cpu=True),
    _spec("blocks", "launch__grid_size", "block", "launch", "sum", "Blocks launched.", cpu=True),
    _spec("registers_per_thread", "launch__registers_per_thread", "register/thread", "launch", "max", "Registers of each thread.", cpu=True),
    _spec("shared_bytes_per_block", "launch__shared_mem_per_block", "byte/block", "launch", "max", "Shared memory of each block, static, dynamic and the driver's own.", cpu=True),
    _spec("waves", "launch__waves_per_multiprocessor", "", "launch", "max", "Grid ÷ blocks that fit on the GPU at once.", cpu=True),
    _spec("theoretical_occupancy_pct", "sm__maximum_warps_per_active_cycle_pct", PCT, "launch", "mean", "Warps that fit on a multiprocessor, of its maximum."),
    _spec("achieved_occupancy_pct", "sm__warps_active.avg.pct_of_peak_sustained_active", PCT, "memory", "mean", "Warps that were resident on average, of the maximum."),
    _spec("sm_cycles_active_avg", "sm__cycles_active.avg", "cycle", "memory", "sum", "Cycles in which a multiprocessor had work: average over the multiprocessors."),
    _spec("sm_cycles_active_max", "sm__cycles_active.max", "cycle", "memory", "sum", "The same: the busiest multiprocessor."),
    _spec("sm_cycles_elapsed", "sm__cycles_elapsed.max", "cycle", "memory", "sum", "Cycles from start to end of the launch."),
    # memory
    _spec("dram_read_bytes", "dram__bytes_read.sum", "byte", "memory", "sum", "Bytes read from device memory.", cpu=True),
    _spec("dram_write_bytes", "dram__bytes_write.sum", "byte", "memory", "sum", "Bytes written to device memory while the launch ran; the rest stays in the L2.", cpu=True),
    _spec("l2_read_sectors", "lts__t_sectors_srcunit_tex_op_read.sum", "sector", "memory", "sum", "32-byte sectors that the multiprocessors read from the L2."),
    _spec("l2_write_sectors", "lts__t_sectors_srcunit_tex_op_write.sum", "sector", "memory", "sum", "32-byte sectors that the multiprocessors wrote to the L2."),
    _spec("global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "request", "memory", "sum", "Warp-wide loads from global memory.", cpu=True),
    _spec("global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "memory", "sum", "32-byte sectors that these loads touched.", cpu=True),
    _spec("global_load_bytes_per_sector", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "byte/sector", "memory", "mean", "Bytes that the threads wanted of each loaded sector (32 is full).", cpu=True),
    _spec("global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "request", "memory", "sum", "Warp-wide stores to global memory.", cpu=True),
    _spec("global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sector", "memory", "sum", "32-byte sectors that these stores touched.", cpu=True),
    _spec("global_store_bytes_per_sector", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", "byte/sector", "memory", "mean", "Bytes that the threads wrote of each stored sector (32 is full).", cpu=True),
    _spec("local_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sector", "memory", "sum", "Sectors of local memory loaded: spilled registers and indexed arrays."),
    _spec("local_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "sector", "memory", "sum", "Sectors of local memory stored: spilled registers and indexed arrays."),
    _spec("shared_load_requests", "smsp__sass_inst_executed_op_shared_ld.sum smsp__inst_executed_op_shared_ld.sum", "request", "memory", "sum", "Warp-wide loads from shared memory.", cpu=True),
    _spec("shared_load_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefront", "memory", "sum", "Passes through the shared-memory banks that these loads needed.", cpu=True),
    _spec("shared_store_requests", "smsp__sass_inst_executed_op_shared_st.sum smsp__inst_executed_op_shared_st.sum", "request", "memory", "sum", "Warp-wide stores to shared memory.", cpu=True),
    _spec("shared_store_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "wavefront", "memory", "sum", "Passes through the shared-memory banks that these stores needed.", cpu=True),
    _spec("global_reductions", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "request", "memory", "sum", "Warp-wide atomics on global memory without a result (RED)."),
    _spec("global_reduction_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "sector", "memory", "sum", "Sector operations of these: 32 per request when all lanes hit one address."),
    _spec("global_atomics", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "request", "memory", "sum", "Warp-wide atomics on global memory that return the old value (ATOM)."),
    _spec("global_atomic_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "sector", "memory", "sum", "Sector operations of these."),
    # instructions
    _spec("instructions", "smsp__inst_executed.sum inst_executed", "inst", "instructions", "sum", "Warp instructions executed."),
    _spec("threads_per_instruction", "smsp__thread_inst_executed_per_inst_executed.ratio", "thread", "instructions", "mean", "Active threads per warp instruction (32 is full).", cpu=True),
    _spec("threads_per_instruction_pred", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "thread", "instructions", "mean", "The same, without threads that are predicated off."),
    _spec("tensor_pipe_pct", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "Tensor cores busy."),
    _spec("fma_pipe_pct", "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "FP32 multiply-add pipes busy.", cpu=True),
    _spec("alu_pipe_pct", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "Integer and logic pipe busy.", cpu=True),
    _spec("fp64_pipe_pct", "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "Double-precision pipe busy.", cpu=True),
    _spec("xu_pipe_pct", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "Special-function and conversion pipe busy.", cpu=True),
    _spec("lsu_pipe_pct", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", PCT, "instructions", "mean", "Load/store pipe busy."),
    _spec("lsu_wavefronts_pct", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", PCT, "instructions", "mean", "L1 and shared-memory data pipe busy.", cpu=True),
    # stalls
    _spec("warp_latency_per_instruction", "smsp__average_warp_latency_per_inst_issued.ratio", "cycle", "stalls", "mean", "Cycles that a warp spends between two of its instructions."),
    _stall("long_scoreboard", "for data from global or local memory"),
    _stall("short_scoreboard", "for shared memory or special functions"),
    _stall("mio_throttle", "the queue of shared-memory and special-function instructions is full"),
    _stall("lg_throttle", "the queue of global-memory instructions is full"),
    _stall("barrier", "at a block barrier"),
    _stall("drain", "stores and atomics must leave before the warp may exit"),
    _stall("math_pipe_throttle", "the arithmetic pipe is busy"),
    _stall("membar", "at a memory fence"),
    _stall("branch_resolving", "for a branch target"),
    _stall("dispatch_stall", "the dispatcher holds back"),
    _stall("imc_miss", "for constants"),
    _stall("no_instruction", "for instructions to be fetched"),
    _stall("not_selected", "another warp was chosen"),
    _stall("wait", "a fixed latency"),
    _stall("tex_throttle", "the texture queue is full"),
    # counted by the cpu device alone
    _spec("redundant_threads", "", "thread", "cpu", "sum", "Threads that touched no memory, or only repeated what another thread of their block did.", cpu=True),
    _spec("barriers", "", "barrier", "cpu", "sum", "Block barriers executed, one per block and barrier.", cpu=True),
    _spec("warp_ops", "", "inst", "cpu", "sum", "Shuffles, votes and warp barriers executed, one per warp.", cpu=True),
    _spec("atomics", "", "operation", "cpu", "sum", "Atomic operations on global memory, one per thread.", cpu=True),
    _spec("same_address_atomics", "", "operation", "cpu", "sum", "Atomic operations on global memory that hit the most used address.", cpu=True),
    _spec("global_load_bytes", "", "byte", "cpu", "sum", "Bytes that threads asked of global memory.", cpu=True),
    _spec("global_store_bytes", "", "byte", "cpu", "sum", "Bytes that threads wrote to global memory.", cpu=True),
    _spec("double_ops", "", "operation", "cpu", "sum", "Calls of double-precision functions.", cpu=True),
    _spec("special_ops", "", "operation", "cpu", "sum", "Calls of special functions (exp, log, sin, division, …).", cpu=True),
)
# fmt: on


class UnknownMetric(LookupError):
    """No such metric: the message names it, and where it was looked for."""


@cache
def _by_name() -> dict[str, MetricSpec]:
    return {spec.name: spec for spec in METRICS}


def metric_spec(name: str) -> MetricSpec:
    """Return the registry's entry of one of our names.

    Raises:
        UnknownMetric: the registry has no such name.
    """
    try:
        return _by_name()[name]
    except KeyError:
        raise UnknownMetric(f"metric {name!r} is not in the registry (tools/profile/metrics.py)") from None


def metric(name: str, value: float, source: Literal["measured", "modelled"] = "measured") -> tuple[str, Metric]:
    """Return one item for `LaunchProfile.metrics`, with the registry's unit.

    Raises:
        UnknownMetric: the registry has no such name.
    """
    return name, Metric(value=value, unit=metric_spec(name).unit, source=source)


def metrics_of(*groups: Group) -> tuple[MetricSpec, ...]:
    """Return the metrics of these groups, in order."""
    return tuple(spec for spec in METRICS if spec.group in groups)


DEFAULT_GROUPS: Final[tuple[Group, ...]] = ("launch", "filter", "memory", "instructions", "stalls")
"""What one profile collects: all that the filter and the findings read."""


def ncu_names(specs: Iterable[MetricSpec]) -> tuple[str, ...]:
    """Return the names for `ncu --metrics`: the first that is known of each metric."""
    return tuple(spec.ncu[0] for spec in specs if spec.ncu)
