"""A bf16 matrix product on the ordinary pipes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....benchmark.contract import Precision
from ...records import Finding
from ..finding import Rule
from ..source import blank_comments
from ..subject import Subject

_MATRIX: Final = r"\bwmma\b|mma_sync|\bmma\.|wgmma|cublas"
IDLE_PCT: Final = 5.0
"""Ordinary FP16 and integer work shares the counter with the tensor cores, so it is seldom exactly 0."""


class TensorCoresUnused(Rule):
    """The task is a matrix product in bf16, and tensor cores do none of it.

    Applies when the tensor pipe is idle (or, without counters, the machine code or the source has no matrix
    instruction). The bound is the time ÷ the floor with tensor cores.
    """

    name = "tensor_cores_unused"
    strategies = ("tensor_cores",)
    reads = ("tensor_pipe_pct",)
    tensor_cores = True

    def find(self, subject: Subject) -> Iterator[Finding]:
        """Yield at most one finding, for the longest kernel."""
        import re

        if not subject.task.tensor_cores or subject.precision is not Precision.BF16 or subject.time_us is None:
            return
        for kernel in subject.kernels[:1]:
            busy = kernel.get("tensor_pipe_pct")
            if busy is not None:
                idle, evidence = busy < IDLE_PCT, f"tensor pipe {busy:.1f} % busy"
            elif kernel.sass is not None:
                idle, evidence = kernel.sass.tensor == 0, f"no matrix instruction among {kernel.sass.instructions}"
            elif subject.source:
                idle = re.search(_MATRIX, blank_comments(subject.source)) is None
                evidence = "no matrix instruction in the source"
            else:
                return
            if idle:
                peak = subject.gpu.bf16_tensor_tflops / subject.gpu.fp32_tflops
                yield self.finding(
                    f"This bf16 matrix product uses no tensor cores, {peak:.0f} times as fast as the FP32 pipes.",
                    evidence,
                    subject.amdahl(kernel, subject.cap),
                    kernel,
                )
