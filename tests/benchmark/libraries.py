"""What libraries on a GPU compute for a task: the benchmark's arms, and a few that are of use for margins alone.

Each function takes a case's arrays by name as torch tensors on the GPU and returns the outputs by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cudamaster.benchmark.cases import scalar_of
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.library.arm import Arm, Tensors
from cudamaster.benchmark.library.registry import arms
from cudamaster.benchmark.library.tensors import from_gpu, strict, to_gpu
from cudamaster.benchmark.task import Case

__all__ = ["from_gpu", "libraries", "strict", "to_gpu"]

Library = Callable[[Tensors, Case], Tensors]


def torch_sum(t: Tensors, case: Case) -> Tensors:
    return {"result": (t["x"].float() * t["y"].float()).sum().reshape(1)}


def cupy_convolution(t: Tensors, case: Case) -> Tensors:
    import cupy
    import torch
    from cupyx.scipy.ndimage import convolve

    r, u = scalar_of(case, "r"), t["u_old"].float()
    weights = cupy.asarray([[0.0, r, 0.0], [r, 1.0 - 4.0 * r, r], [0.0, r, 0.0]], dtype=cupy.float32)
    whole = u.clone()
    whole[1:-1, 1:-1] = torch.from_dlpack(convolve(cupy.from_dlpack(u), weights, mode="constant"))[1:-1, 1:-1]
    return {"u_new": whole}


def _of(arm: Arm) -> Library:
    return lambda tensors, case: arm.plan(tensors, case)()


_MORE: dict[str, dict[str, Any]] = {
    "dot_product": {"torch sum": torch_sum},
    "stencil_2d": {"CuPy convolution": cupy_convolution},
}


def libraries(task: str, precision: Precision) -> dict[str, Library]:
    """Return what computes a unit, by name."""
    return {arm.name: _of(arm) for arm in arms(task, precision)} | _MORE.get(task, {})
