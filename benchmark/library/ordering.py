"""Sorting and selection: CUB through PyTorch."""

from __future__ import annotations

from ..task import Case
from .arm import Arm, Tensors, direct


def _top_k(t: Tensors, case: Case) -> Tensors:
    import torch

    # torch.topk leaves open which of equal elements comes first.
    values, indices = torch.sort(t["input"], dim=1, descending=True, stable=True)
    return {"values": values[:, : case.sizes["k"]], "indices": indices[:, : case.sizes["k"]]}


def _sorted(t: Tensors, case: Case) -> Tensors:
    import torch

    return {"data": torch.sort(t["data"], dim=1).values}


ARMS: dict[str, tuple[Arm, ...]] = {
    "top_k": (direct("CUB sort (PyTorch), first k", _top_k),),
    "sorting": (direct("CUB sort (PyTorch)", _sorted),),
}
