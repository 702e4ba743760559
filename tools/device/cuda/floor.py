"""The least time that any kernel could take: proven work over peak rates, never less than an empty launch."""

from __future__ import annotations

from ....benchmark.contract import Precision
from ....benchmark.task import Case, Task
from ..gpu_model import GpuModel


def speed_of_light_us(task: Task, precision: Precision, case: Case, gpu: GpuModel) -> float:
    """Return the larger of proven operations ÷ peak rate and proven bytes ÷ bandwidth, microseconds; 0 if unknown.

    Written bytes count only beyond the L2, which may keep the rest. Matrix products get the tensor cores' rate, in FP32
    that of TF32: a bound must hold for every legal kernel.
    """
    if task.tensor_cores:
        tflops = gpu.bf16_tensor_tflops if precision is Precision.BF16 else gpu.tf32_tensor_tflops
    else:
        tflops = gpu.bf16_tflops if precision is Precision.BF16 else gpu.fp32_tflops
    written = sum(
        task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.outputs if a.name not in case.null
    )
    moved = task.min_bytes(case.sizes, precision)
    moved -= min(moved, written, gpu.l2_bytes)
    return max(task.min_flops(case.sizes) / (tflops * 1e6), moved / (gpu.dram_gbps * 1e3))


def floor_us(task: Task, precision: Precision, case: Case, gpu: GpuModel, empty_launch_us: float) -> float:
    """Return the larger of the speed-of-light time and the empty launch's, microseconds."""
    return max(speed_of_light_us(task, precision, case, gpu), empty_launch_us)
