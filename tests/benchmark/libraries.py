"""What libraries on a GPU compute for a task, in the unit's storage precision: honest kernels that others wrote.

Each function takes a case's arrays by name as torch tensors on the GPU and returns the outputs by name.
torch and CuPy are imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from cudamaster.benchmark.cases import scalar_of
from cudamaster.benchmark.contract import Contract, DType, Precision
from cudamaster.benchmark.task import Case

Tensors = Mapping[str, Any]
Library = Callable[[Tensors, Case], dict[str, Any]]


def to_gpu(memory: Mapping[str, np.ndarray], contract: Contract, precision: Precision) -> dict[str, Any]:
    """Return arrays as they lie in memory as tensors on the GPU."""
    import torch

    tensors = {}
    for argument in contract.inputs:
        if argument.name in memory:
            array = memory[argument.name]
            if argument.dtype.resolve(precision) is DType.BF16:
                tensors[argument.name] = torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16).cuda()
            else:
                tensors[argument.name] = torch.from_numpy(array.copy()).cuda()
    return tensors


def from_gpu(tensor: Any, dtype: DType) -> np.ndarray:
    """Return a tensor as it lies in memory, rounded to the output's type."""
    import torch

    if dtype is DType.BF16:
        return tensor.to(torch.bfloat16).contiguous().view(torch.int16).cpu().numpy().view(np.uint16)
    return tensor.to(torch.float32).contiguous().cpu().numpy()


def strict() -> None:
    """Sums in float: no TF32, no bf16 partial sums, as the tasks demand."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def cublas_dot(t: Tensors, case: Case) -> dict[str, Any]:
    import torch

    return {"result": torch.dot(t["x"].float(), t["y"].float()).reshape(1)}


def torch_sum(t: Tensors, case: Case) -> dict[str, Any]:
    return {"result": (t["x"].float() * t["y"].float()).sum().reshape(1)}


def torch_gelu(t: Tensors, case: Case) -> dict[str, Any]:
    import torch

    return {"out": torch.nn.functional.gelu(t["in"])}


def torch_softmax(t: Tensors, case: Case) -> dict[str, Any]:
    import torch

    return {"out": torch.softmax(t["in"], dim=1)}


def cublas_product(t: Tensors, case: Case) -> dict[str, Any]:
    return {"C": t["A"] @ t["B"]}


def cusparse_product(t: Tensors, case: Case) -> dict[str, Any]:
    import cupy
    import torch
    from cupyx.scipy.sparse import csr_matrix

    parts = (cupy.from_dlpack(t[name]) for name in ("col_idx", "row_offsets"))
    values, x = (cupy.from_dlpack(t[name].float()) for name in ("values", "x"))
    y = csr_matrix((values, *parts), shape=(case.sizes["rows"], case.sizes["cols"])) @ x
    return {"y": torch.from_dlpack(y)}


def torch_sparse(t: Tensors, case: Case) -> dict[str, Any]:
    import torch

    shape = (case.sizes["rows"], case.sizes["cols"])
    matrix = torch.sparse_csr_tensor(t["row_offsets"], t["col_idx"], t["values"], shape)
    return {"y": (matrix @ t["x"][:, None])[:, 0]}


def _weights(case: Case) -> list[list[float]]:
    r = scalar_of(case, "r")
    return [[0.0, r, 0.0], [r, 1.0 - 4.0 * r, r], [0.0, r, 0.0]]


def _with_border(inner: Any, u: Any) -> dict[str, Any]:
    """Put the inner points into a copy of the grid, in float."""
    whole = u.float().clone()
    whole[1:-1, 1:-1] = inner[1:-1, 1:-1]
    return {"u_new": whole}


def cudnn_convolution(t: Tensors, case: Case) -> dict[str, Any]:
    import torch

    u = t["u_old"].float()
    weights = torch.tensor(_weights(case), device=u.device)
    return _with_border(torch.nn.functional.conv2d(u[None, None], weights[None, None], padding=1)[0, 0], u)


def cupy_convolution(t: Tensors, case: Case) -> dict[str, Any]:
    import cupy
    import torch
    from cupyx.scipy.ndimage import convolve

    u = t["u_old"].float()
    inner = convolve(cupy.from_dlpack(u), cupy.asarray(_weights(case), dtype=cupy.float32), mode="constant")
    return _with_border(torch.from_dlpack(inner), u)


LIBRARIES: dict[str, dict[str, Library]] = {
    "dot_product": {"cuBLAS dot": cublas_dot, "torch sum": torch_sum},
    "gelu": {"torch gelu": torch_gelu},
    "softmax": {"torch softmax": torch_softmax},
    "matrix_mul": {"cuBLAS": cublas_product},
    "spmv_csr": {"cuSPARSE (CuPy)": cusparse_product, "cuSPARSE (torch)": torch_sparse},
    "stencil_2d": {"cuDNN convolution": cudnn_convolution, "CuPy convolution": cupy_convolution},
}
