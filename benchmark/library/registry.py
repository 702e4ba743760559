"""Which library computes which task."""

from __future__ import annotations

from typing import Final

from ..contract import Precision
from . import dense, elementwise, neural, ordering, sparse, transform
from .arm import Arm

_ARMS: Final[dict[str, tuple[Arm, ...]]] = {
    task: arms
    for family in (elementwise, dense, neural, transform, ordering, sparse)
    for task, arms in family.ARMS.items()
}

NOT_COVERED: Final = {
    "rope": "no library has rotary embeddings with angles computed in the call",
    "merge_attn_states": "no library merges two attention states",
    "triangle_attention": "a softmax per channel is in no library",
}
"""Tasks that no library covers, and why."""


def arms(task: str, precision: Precision) -> tuple[Arm, ...]:
    """Return the arms of a unit that run in PyTorch's process; `cub.CUB` has further ones."""
    return tuple(arm for arm in _ARMS.get(task, ()) if precision in arm.precisions)
