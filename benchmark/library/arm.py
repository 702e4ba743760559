"""One way in which a library computes a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..contract import Precision
from ..task import Case

Tensors: TypeAlias = Mapping[str, Any]
"""A case's arrays by name, as torch tensors on the GPU."""
Call: TypeAlias = Callable[[], Tensors]
"""Queues the work and returns the outputs by name."""


@dataclass(frozen=True)
class Arm:
    """A library's way to compute a task, in the unit's storage type.

    `plan` does what a user does once (handles, descriptors, plans, workspaces) and returns the call that is timed.
    """

    name: str
    """The library and its function, e.g. `cuBLAS gemm`."""
    plan: Callable[[Tensors, Case], Call]
    precisions: tuple[Precision, ...] = tuple(Precision)
    """Where the library is as accurate as the task demands."""


def direct(
    name: str, compute: Callable[[Tensors, Case], Tensors], precisions: tuple[Precision, ...] = tuple(Precision)
) -> Arm:
    """Return an arm that has nothing to plan."""
    return Arm(name, lambda tensors, case: lambda: compute(tensors, case), precisions)
