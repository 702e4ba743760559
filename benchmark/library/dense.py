"""Products of dense arrays: cuBLAS through PyTorch."""

from __future__ import annotations

from ..contract import Precision
from ..task import Case
from .arm import Arm, Tensors, direct


def _dot(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"result": torch.dot(t["x"], t["y"]).reshape(1)}


def _gemv(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"y": torch.mv(t["A"], t["x"])}


def _gemm(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"C": torch.mm(t["A"], t["B"])}


def _power(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"B": torch.linalg.matrix_power(t["A"], case.sizes["P"])}


def _contraction(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"C": torch.einsum("axby,xcy->abc", t["A"], t["B"])}


ARMS: dict[str, tuple[Arm, ...]] = {
    # Of bf16 vectors cuBLAS rounds the result to bf16, and the task wants a float.
    "dot_product": (direct("cuBLAS dot", _dot, (Precision.FP32,)),),
    "matrix_vector_mul": (direct("cuBLAS gemv", _gemv),),
    "matrix_mul": (direct("cuBLAS gemm", _gemm),),
    "square_matrix_mul": (direct("cuBLAS gemm", _gemm),),
    "matrix_power": (direct("cuBLAS gemm, squaring", _power),),
    "high_order_contraction": (direct("cuBLAS gemm after a transpose", _contraction),),
}
