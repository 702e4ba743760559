"""The order in which cases are checked: cheap before dear, hidden last."""

from __future__ import annotations

from collections.abc import Sequence

from ...benchmark.task import Case, CaseSet, Task
from .check_case import COSTLY, THOROUGH, USUAL, Step

_COSTLY_OPERATIONS = 500_000_000
"""Above this complexity a case is checked with one data set."""

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


def _with_steps(task: Task, cases: list[Case]) -> Stage:
    affordable = [c for c in cases if task.complexity(c.sizes) <= _COSTLY_OPERATIONS]
    return [(c, THOROUGH if c is affordable[-1] else USUAL) if c in affordable else (c, COSTLY) for c in cases]
