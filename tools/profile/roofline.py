"""The roofline: how fast a call could be at best, how close it is, and when to stop."""

from __future__ import annotations

from typing import Final, Literal

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.gpu_model import GpuModel
from ..records import LaunchProfile, Profile, Record

STOP_WITHIN_PCT: Final = 15.0
"""A call within this much of its floor is done: what is left is smaller than what a change usually costs."""


class Floor(Record):
    """Proven lower bounds of a call's device time, microseconds; 0 where nothing is proven."""

    compute_us: float
    """Fewest floating-point operations ÷ the fastest legal rate."""
    memory_us: float
    """Fewest bytes through device memory ÷ its bandwidth."""
    launch_us: float
    """An empty launch, measured the way calls are timed."""

    @property
    def work_us(self) -> float:
        """The floor of the work alone, without the launch."""
        return max(self.compute_us, self.memory_us)

    @property
    def time_us(self) -> float:
        """The floor: no correct call is faster."""
        return max(self.work_us, self.launch_us)

    @property
    def limiter(self) -> Literal["compute", "memory", "launch"]:
        """What sets the floor."""
        if self.launch_us >= self.work_us:
            return "launch"
        return "compute" if self.compute_us > self.memory_us else "memory"


def best_tflops(task: Task, precision: Precision, gpu: GpuModel, *, tensor_cores: bool = True) -> float:
    """Return the fastest rate that the task's rounding model allows, TFLOP/s (without tensor cores, if so asked).

    FP32 products may be split into three TF32 products on tensor cores; bf16 products run there as they are.
    """
    tensor = tensor_cores and task.tensor_cores
    if precision is Precision.BF16:
        return max(gpu.bf16_tflops, gpu.bf16_tensor_tflops if tensor else 0.0)
    return max(gpu.fp32_tflops, gpu.tf32_tensor_tflops / 3 if tensor else 0.0)


def floor(task: Task, precision: Precision, case: Case, gpu: GpuModel, *, tensor_cores: bool = True) -> Floor:
    """Return the floor of a case: writes count only beyond the L2, where they may stay.

    `tensor_cores=False` gives the floor of kernels that don't use them, which is higher where the task could.
    """
    written = sum(
        task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.outputs if a.name not in case.null
    )
    through = max(0, task.min_bytes(case.sizes, precision) - min(written, gpu.l2_bytes))
    return Floor(
        compute_us=task.min_flops(case.sizes) / (best_tflops(task, precision, gpu, tensor_cores=tensor_cores) * 1e6),
        memory_us=through / (gpu.dram_gbps * 1e3),
        launch_us=gpu.empty_launch_us,
    )


def efficiency(time_us: float, bound: Floor) -> float:
    """Return floor ÷ time: how good a call is, whatever it started from."""
    return bound.time_us / time_us


def near_floor(time_us: float, bound: Floor, within_pct: float = STOP_WITHIN_PCT) -> bool:
    """Say whether a run should stop: the time is within `within_pct` percent of the floor."""
    return time_us <= bound.time_us * (1 + within_pct / 100)


class Roof(Record):
    """One launch under the roofline."""

    kernel: str
    time_us: float
    dram_gbps: float | None
    """Traffic through device memory ÷ time."""
    dram_pct: float | None
    """Of the bandwidth ceiling."""
    gflops: float | None
    """Multiply-add pipes' share of peak × the FP32 peak; tensor cores' of theirs, if they do more."""
    compute_pct: float | None
    """Of the ceiling of the busier of the two."""
    limiter: Literal["memory", "compute", "latency", "unknown"]
    """The nearer ceiling; latency if both are under half."""


def roofline(profile: Profile, gpu: GpuModel) -> tuple[Roof, ...]:
    """Place every launch that has a duration under the ceilings of a GPU (calibrated, if its model is)."""
    return tuple(_roof(launch, gpu) for launch in profile.launches if "duration_us" in launch.metrics)


def _roof(launch: LaunchProfile, gpu: GpuModel) -> Roof:
    def of(name: str) -> float | None:
        metric = launch.metrics.get(name)
        return metric.value if metric else None

    time_us = launch.metrics["duration_us"].value
    read, wrote, fma, tensor = (
        of(n) for n in ("dram_read_bytes", "dram_write_bytes", "fma_pipe_pct", "tensor_pipe_pct")
    )
    gbps = None if read is None or time_us <= 0 else (read + (wrote or 0.0)) / time_us / 1e3
    dram_pct = None if gbps is None else 100 * gbps / gpu.dram_gbps
    rates = [(fma or 0.0, gpu.fp32_tflops), (tensor or 0.0, gpu.bf16_tensor_tflops)]
    compute_pct, peak = max(rates, key=lambda rate: rate[0] * rate[1])
    known = fma is not None or tensor is not None
    limiter: Literal["memory", "compute", "latency", "unknown"]
    if dram_pct is None and not known:
        limiter = "unknown"
    elif max(dram_pct or 0.0, compute_pct) < 50:
        limiter = "latency"
    else:
        limiter = "memory" if (dram_pct or 0.0) >= compute_pct else "compute"
    return Roof(
        kernel=launch.kernel,
        time_us=time_us,
        dram_gbps=gbps,
        dram_pct=dram_pct,
        gflops=compute_pct / 100 * peak * 1e3 if known else None,
        compute_pct=compute_pct if known else None,
        limiter=limiter,
    )
