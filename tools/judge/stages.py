"""The order in which cases are checked: cheap before dear, hidden last."""

from __future__ import annotations

from collections.abc import Sequence

from ...benchmark.contract import Precision
from ...benchmark.task import Case, CaseSet, Task
from .check_case import COSTLY, THOROUGH, USUAL, Step

_COSTLY_OPERATIONS = 10_000_000
_COSTLY_BYTES = 32_000_000
"""Above this complexity or size of all arrays a case is checked with one data set, from the pool of seeds."""

Stage = list[tuple[Case, tuple[Step, ...]]]


def stages(task: Task, cases: Sequence[Case]) -> list[Stage]:
    """Split cases into small, big and hidden ones, each by rising cost, and say which calls to make at each.

    The dearest case of a stage that is not too dear is checked thoroughly: more calls, other buffers, other data.
    """
    ordered = sorted(cases, key=lambda c: task.complexity(c.sizes))
    small = [c for c in ordered if c.set is CaseSet.SMALL]
    hidden = [c for c in ordered if c.set is CaseSet.HIDDEN]
    big = [c for c in ordered if c not in small and c not in hidden]
    return [_with_steps(task, stage) for stage in (small, big, hidden) if stage]


def costly(task: Task, case: Case) -> bool:
    """Return True if the data or the reference of a case are dear to make."""
    array_bytes = sum(task.contract.bytes_of(a, Precision.FP32, case.sizes) for a in task.contract.arrays)
    return task.complexity(case.sizes) > _COSTLY_OPERATIONS or array_bytes > _COSTLY_BYTES


def _with_steps(task: Task, cases: list[Case]) -> Stage:
    affordable = [c for c in cases if not costly(task, c)]
    return [(c, THOROUGH if c is affordable[-1] else USUAL) if c in affordable else (c, COSTLY) for c in cases]
