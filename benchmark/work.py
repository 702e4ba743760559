"""Lower bounds of the work that any kernel for a contract must do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .contract import Contract, Precision, Role


def compulsory_bytes(contract: Contract) -> Callable[[Mapping[str, int], Precision], int]:
    """Return `min_bytes` of a task that needs every element: inputs read once, outputs written once."""

    def count(sizes: Mapping[str, int], precision: Precision) -> int:
        return sum((2 if a.role is Role.INOUT else 1) * contract.bytes_of(a, precision, sizes) for a in contract.arrays)

    return count
