"""Lower bounds of the work that any kernel for a contract must do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .contract import Contract, Precision, Role


def compulsory_bytes(contract: Contract, *, but: tuple[str, ...] = ()) -> Callable[[Mapping[str, int], Precision], int]:
    """Return `min_bytes` of a task: every input read once, every output written once, but for the arrays named."""

    def count(sizes: Mapping[str, int], precision: Precision) -> int:
        needed = [a for a in contract.arrays if a.name not in but]
        return sum((2 if a.role is Role.INOUT else 1) * contract.bytes_of(a, precision, sizes) for a in needed)

    return count
