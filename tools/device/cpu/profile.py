"""Counters of one call as a profile: the record types of a GPU's, each number marked as counted or modelled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from ...profile.metrics import metric
from ...records import LaunchProfile, Metric, Profile
from ..gpu_model import WARP, GpuModel
from .cost import launch_cost, resident_blocks
from .counters import Counters, LaunchCounters, base_name

NOTE = (
    "Counted by running the kernels on the CPU: requests, sectors and wavefronts are exact for the traced blocks; "
    "times, bandwidths and percentages come from a cost model. Instructions are those of the host's code, translated; "
    "registers are known where nvcc is."
)


def profile_of(counters: Counters, gpu: GpuModel, case: str, kernel_lines: Mapping[str, int]) -> Profile:
    """Return the profile of one call, launches in order."""
    launches = tuple(_launch_profile(launch, gpu, kernel_lines) for launch in counters.launches)
    return Profile(device="cpu", gpu=gpu.name, case=case, launches=launches, note=NOTE)


def _launch_profile(launch: LaunchCounters, gpu: GpuModel, kernel_lines: Mapping[str, int]) -> LaunchProfile:
    return LaunchProfile(
        kernel=launch.kernel, grid=launch.grid, block=launch.block, metrics=_metrics(launch, gpu),
        line=kernel_lines.get(base_name(launch.kernel), launch.line),
    )  # fmt: skip


def _metrics(launch: LaunchCounters, gpu: GpuModel) -> dict[str, Metric]:
    measured: dict[str, float] = {
        "threads": launch.threads,
        "blocks": launch.blocks,
        "shared_bytes_per_block": launch.dynamic_bytes + launch.static_bytes + gpu.shared_bytes_reserved,
        "waves": launch.blocks / (gpu.multiprocessors * resident_blocks(launch, gpu)),
        "barriers": launch.barriers,
        "warp_ops": launch.warp_ops,
        "atomics": launch.atomics,
        "same_address_atomics": launch.same_address_atomics,
    }
    modelled: dict[str, float] = {}
    if launch.sampled_blocks:
        for word, write in (("load", False), ("store", True)):
            requests = launch.total("requests", "global", write=write)
            sectors = launch.total("sectors", "global", write=write)
            wanted = sum(
                s.accesses * s.bytes for s in launch.sites if s.space == "global" and s.write == write and not s.atomic
            )
            measured[f"global_{word}_requests"] = requests
            measured[f"global_{word}_sectors"] = sectors
            measured[f"global_{word}_bytes"] = wanted
            if sectors:
                measured[f"global_{word}_bytes_per_sector"] = wanted / sectors
            measured[f"shared_{word}_requests"] = launch.total("requests", "shared", write=write)
            measured[f"shared_{word}_wavefronts"] = launch.total("wavefronts", "shared", write=write)
        measured["redundant_threads"] = launch.idle_threads + launch.redundant_threads
        accesses = sum(s.accesses for s in launch.sites if s.space != "local")
        requests = sum(s.requests for s in launch.sites if s.space != "local")
        if requests:
            modelled["threads_per_instruction"] = min(float(WARP), accesses / requests)
        cost = launch_cost(launch, gpu)
        time = max(cost.time_us, 1e-3)
        modelled["duration_us"] = time
        modelled["dram_read_bytes"] = launch.read_bytes
        modelled["dram_write_bytes"] = max(0.0, launch.write_bytes - 0.5 * gpu.l2_bytes)
        arithmetic = {
            "fma_pipe_pct": cost.fp32_us, "fp64_pipe_pct": cost.fp64_us, "xu_pipe_pct": cost.special_us,
            "alu_pipe_pct": cost.integer_us,
        }  # fmt: skip
        busy = {
            "dram_throughput_pct": cost.dram_us,
            "lsu_wavefronts_pct": cost.l1_us,
            "memory_throughput_pct": max(cost.dram_us, cost.l2_us, cost.l1_us),
            "sm_throughput_pct": max(cost.issue_us, *arithmetic.values()),
        }
        if launch.mix is not None:
            busy |= arithmetic
            measured["special_ops"] = launch.special_ops
            measured["double_ops"] = launch.double_ops
        modelled |= {name: _share(part, time) for name, part in busy.items()}
    if launch.registers:
        measured["registers_per_thread"] = launch.registers
    kinds: tuple[tuple[Literal["measured", "modelled"], dict[str, float]], ...] = (
        ("measured", measured),
        ("modelled", modelled),
    )
    return dict(
        metric(name, value, source)
        for source, values in kinds
        for name, value in values.items()
        if math.isfinite(value)
    )


def _share(part_us: float, time_us: float) -> float:
    return min(100.0, 100.0 * part_us / time_us)
