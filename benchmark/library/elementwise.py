"""Activations, copies and other work element by element: PyTorch's kernels and the runtime's copies."""

from __future__ import annotations

from typing import Any

from ..cases import scalar_of
from ..task import Case
from .arm import Arm, Tensors, direct


def _relu(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.relu(t["in"])}


def _leaky_relu(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.nn.functional.leaky_relu(t["in"], scalar_of(case, "alpha"))}


def _elu(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.nn.functional.elu(t["in"], scalar_of(case, "alpha"))}


def _selu(t: Tensors, case: Case) -> Tensors:
    import torch

    # torch's own selu has fixed constants; its elu takes a factor too.
    return {"out": torch.ops.aten.elu(t["in"], scalar_of(case, "alpha"), scalar_of(case, "lambda"))}


def _gelu(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.nn.functional.gelu(t["in"])}


def _sigmoid(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.sigmoid(t["in"])}


def _tanh(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.tanh(t["in"])}


def _silu_times(t: Tensors, case: Case) -> Tensors:
    import torch

    x, g = t["in"].float().chunk(2, dim=1)
    return {"out": torch.nn.functional.silu(x) * g}


def _add(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"C": torch.add(t["A"], t["B"])}


def _flip(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.flip(t["in"], (0,))}


def _copy(t: Tensors, case: Case) -> Any:
    import torch

    B = torch.empty_like(t["A"])
    return lambda: {"B": B.copy_(t["A"])}


def _scaled(t: Tensors, case: Case) -> Tensors:
    return {"B": t["A"] * scalar_of(case, "scalar")}


def _transposed(t: Tensors, case: Case) -> Tensors:
    return {"B": t["A"].T.contiguous()}


ARMS: dict[str, tuple[Arm, ...]] = {
    "relu": (direct("PyTorch relu", _relu),),
    "leaky_relu": (direct("PyTorch leaky_relu", _leaky_relu),),
    "elu": (direct("PyTorch elu", _elu),),
    "selu": (direct("PyTorch elu, scaled", _selu),),
    "gelu": (direct("PyTorch gelu", _gelu),),
    "sigmoid": (direct("PyTorch sigmoid", _sigmoid),),
    "row_tanh": (direct("PyTorch tanh", _tanh),),
    "silu_and_mul": (direct("PyTorch silu, mul", _silu_times),),
    "vector_add": (direct("PyTorch add", _add),),
    "reverse_array": (direct("PyTorch flip", _flip),),
    "matrix_copy": (Arm("cudaMemcpyAsync", _copy),),
    "matrix_scalar_mul": (direct("PyTorch mul", _scaled),),
    "matrix_transpose": (direct("PyTorch contiguous", _transposed),),
}
