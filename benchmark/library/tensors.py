"""Arrays as they lie in memory, to torch tensors on the GPU and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..contract import Contract, DType, Precision

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_gpu(memory: Mapping[str, NDArray[Any]], contract: Contract, precision: Precision) -> dict[str, Any]:
    """Return the inputs of a case as tensors on the GPU."""
    import numpy as np
    import torch

    tensors = {}
    for argument in contract.inputs:
        if argument.name in memory:
            array = memory[argument.name]
            if argument.dtype.resolve(precision) is DType.BF16:
                tensors[argument.name] = torch.tensor(array.view(np.int16), device="cuda").view(torch.bfloat16)
            else:
                tensors[argument.name] = torch.tensor(array, device="cuda")
    return tensors


def from_gpu(tensor: Any, dtype: DType) -> NDArray[Any]:
    """Return a tensor as it lies in memory, rounded to the output's type."""
    import numpy as np
    import torch

    if dtype is DType.BF16:
        return tensor.to(torch.bfloat16).contiguous().view(torch.int16).cpu().numpy().view(np.uint16)  # type: ignore[no-any-return]
    kind = torch.int32 if dtype is DType.I32 else torch.float32
    return tensor.to(kind).contiguous().cpu().numpy()  # type: ignore[no-any-return]


def strict() -> None:
    """Let sums be float: no TF32, no bf16 partial sums, as the tasks demand."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
