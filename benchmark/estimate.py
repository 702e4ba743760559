"""What the data and the answer of a case cost the machine that makes them: asked before it begins."""

from __future__ import annotations

from typing import Final

from .contract import Precision
from .task import Case, Task

_DRAW_S: Final = 0.2e-6
_ANSWER_S: Final = 0.5e-6
"""Seconds per input element, drawn and rounded, and per answered output element, with value and bound."""
_OPERATION_S: Final = 5e-9
_PRODUCT_S: Final = 0.3e-9
"""Seconds per operation of a reference in numpy, and per term of a matrix product."""
_SAMPLED_SHARE: Final = 32
"""A sample is 2^20 elements, or one in so many."""


def host_bytes(task: Task, case: Case, precision: Precision, *, sampled: bool) -> int:
    """Estimate the memory that a case's data and answer need at their peak, bytes.

    Inputs exist as drawn (8 bytes an element), as stored, and as numbers again; a whole answer has value, bound and as
    much again in between.
    """
    inputs = sum(
        a.elements(case.sizes) * (16 + a.dtype.resolve(precision).itemsize)
        for a in task.contract.inputs
        if a.name not in case.null
    )
    return inputs + sum(a.elements(case.sizes) * (4 if sampled else 40) for a in task.contract.outputs)


def host_seconds(task: Task, case: Case, *, sampled: bool) -> float:
    """Estimate how long one core takes to make a case's data and answer, seconds; right by a factor of eight."""
    inputs, outputs = (
        sum(a.elements(case.sizes) for a in each) for each in (task.contract.inputs, task.contract.outputs)
    )
    answered = min(outputs, max(2**20, outputs // _SAMPLED_SHARE)) if sampled else outputs
    operations = (task.reference_operations or task.complexity)(case.sizes) * answered / outputs
    return inputs * _DRAW_S + answered * _ANSWER_S + operations * (_PRODUCT_S if task.tensor_cores else _OPERATION_S)
