"""Small CUDA sources that call CUB, one a family; each has the contract's entries and is built like any kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..contract import DType, Precision

_FOLDER: Final = Path(__file__).parent / "sources"
_FILES: Final = {
    "reductions": ("dot_product", "mse_loss", "cross_entropy_loss", "monte_carlo_int", "simpson_int"),
    "transforms": ("hinge_loss", "swiglu", "silu_and_mul"),
    "scans": ("prefix_sum",),
    "sorts": ("sorting",),
}
CUB: Final = {task: f"CUB {family}" for family, tasks in _FILES.items() for task in tasks}
"""The arm's name by task."""


def cub_source(task: str, precision: Precision) -> str:
    """Return the source that computes a task with CUB; `T` in it is the storage type.

    Raises:
        KeyError: CUB has nothing for it.
    """
    family = CUB[task].removeprefix("CUB ")
    storage = DType.STORAGE.resolve(precision).c_name
    return f"#include <cuda_bf16.h>\ntypedef {storage} T;\n{(_FOLDER / f'{family}.cu').read_text()}"
