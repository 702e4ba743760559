"""Convolutions, pooling, norms, attention: cuDNN and PyTorch's own kernels."""

from __future__ import annotations

from typing import Any

from ..cases import scalar_of
from ..task import Case
from .arm import Arm, Call, Tensors, direct


def _softmax(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"out": torch.softmax(t["in"], dim=1)}


def _batch_norm(t: Tensors, case: Case) -> Tensors:
    import torch

    out = torch.batch_norm(
        t["in"], t["gamma"], t["beta"], None, None, True, 0.0, scalar_of(case, "eps"), torch.backends.cudnn.enabled
    )
    return {"out": out}


def _layer_norm(t: Tensors, case: Case) -> Tensors:
    import torch

    shape = (case.sizes["N"],)
    return {"out": torch.nn.functional.layer_norm(t["in"], shape, t["weight"], t["bias"], scalar_of(case, "eps"))}


def _rms_norm(t: Tensors, case: Case) -> Tensors:
    import torch

    x, weight, bias = (t[name].float() for name in ("in", "weight", "bias"))
    return {"out": torch.rms_norm(x, (case.sizes["N"],), weight, scalar_of(case, "eps")) + bias}


def _attention(t: Tensors, case: Case) -> Tensors:
    import torch

    Q, K, V = (t[name][:, None] for name in "QKV")
    return {"Y": torch.nn.functional.scaled_dot_product_attention(Q, K, V)[:, 0]}


def _conv_1d(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"output": torch.nn.functional.conv1d(t["input"][None, None], t["kernel"][None, None])[0, 0]}


def _conv_2d(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"output": torch.nn.functional.conv2d(t["input"][None, None], t["kernel"][None, None])[0, 0]}


def _max_pool(t: Tensors, case: Case) -> Tensors:
    import torch

    size, stride, padding = (case.sizes[name] for name in ("kernel_size", "stride", "padding"))
    return {"output": torch.nn.functional.max_pool2d(t["input"], size, stride, padding)}


def _stencil(dimensions: int) -> Any:
    """Return the plan of an explicit step as a convolution with 3 points along each axis; the border is copied."""

    def plan(t: Tensors, case: Case) -> Call:
        import torch

        r, u = scalar_of(case, "r"), t["u_old"]
        weights = torch.zeros((3,) * dimensions, device=u.device)
        middle = (1,) * dimensions
        weights[middle] = 1.0 - 2 * dimensions * r
        for axis in range(dimensions):
            for side in (0, 2):
                weights[(*middle[:axis], side, *middle[axis + 1 :])] = r
        convolve = torch.nn.functional.conv2d if dimensions == 2 else torch.nn.functional.conv3d
        inner = (slice(1, -1),) * dimensions

        def call() -> Tensors:
            u_new = u.float().clone()
            if min(u.shape) > 2:
                u_new[inner] = convolve(u.float()[None, None], weights[None, None])[0, 0]
            return {"u_new": u_new}

        return call

    return plan


ARMS: dict[str, tuple[Arm, ...]] = {
    "softmax": (direct("PyTorch softmax", _softmax),),
    "batch_norm": (direct("PyTorch or cuDNN batch_norm", _batch_norm),),
    "layer_norm": (direct("PyTorch layer_norm", _layer_norm),),
    "rms_norm": (direct("PyTorch rms_norm, add", _rms_norm),),
    "softmax_attention": (direct("PyTorch scaled_dot_product_attention", _attention),),
    "conv_1d": (direct("cuDNN convolution", _conv_1d),),
    "conv_2d": (direct("cuDNN convolution", _conv_2d),),
    "max_pooling_2d": (direct("PyTorch max_pool2d", _max_pool),),
    "stencil_2d": (Arm("cuDNN convolution", _stencil(2)),),
    "stencil_3d": (Arm("cuDNN convolution", _stencil(3)),),
}
