"""Tensor cores do the products, and wait for operands most of the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....benchmark.contract import Precision
from ...records import Finding
from ..finding import Rule
from ..subject import Subject
from .tensor_cores_unused import IDLE_PCT

_BUSY_PCT: Final = 70.0
"""From here on tensor cores count as fed."""
_WARPGROUPS: Final = "sm_90"
"""The architecture whose full rate takes products of whole warpgroups."""


class TensorCoresWaiting(Rule):
    """The task is a matrix product in bf16 on tensor cores, and these are busy for less than 70 % of the time.

    Operands come too late: too little is kept in shared memory and registers, or loads do not run ahead. On compute
    capability 9.0 the full rate takes `wgmma`, which reads its operands from shared memory.
    The bound is 100 ÷ the tensor pipe's share.
    """

    name = "tensor_cores_waiting"
    strategies = ("prefetch", "warpgroup_products", "tile_registers", "swizzle_shared")
    reads = ("tensor_pipe_pct",)
    stalls = ("long_scoreboard", "short_scoreboard", "mio_throttle", "wait", "barrier")
    tensor_cores = True

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the longest kernel."""
        if not subject.task.tensor_cores or subject.precision is not Precision.BF16:
            return
        for kernel in subject.kernels[:1]:
            busy = kernel.get("tensor_pipe_pct")
            if busy is None or not IDLE_PCT <= busy < _BUSY_PCT:
                continue
            by_warps = subject.gpu.arch.startswith(_WARPGROUPS) and "wgmma" not in subject.source
            also = ", and the products are those of single warps (mma, wmma), not of warpgroups (wgmma)"
            yield self.finding(
                f"Tensor cores are busy {busy:.0f} % of the time{also if by_warps else ''}.",
                f"tensor pipe {busy:.1f} % busy",
                subject.amdahl(kernel, 100 / busy),
                kernel,
                strategies=tuple(s for s in self.strategies if by_warps or s != "warpgroup_products"),
            )
