"""The benchmark's tasks as plain values, for the command line."""

from __future__ import annotations

from typing import Any

from ..benchmark.registry import load_task, task_names
from ..benchmark.task import CaseSet


def list_tasks() -> list[dict[str, Any]]:
    """Return name, category and formula of every task."""
    tasks = [load_task(name) for name in task_names()]
    return [{"name": task.name, "category": task.category, "formula": task.formula} for task in tasks]


def describe_task(name: str) -> dict[str, Any]:
    """Return all that a person may know of a task; its hidden cases are not told.

    Raises:
        UnknownTask: no such task.
    """
    task = load_task(name)
    prototypes = [*map(task.contract.prototype, task.precisions), task.contract.workspace_prototype()]
    shown = [case for case in task.cases if case.set is not CaseSet.HIDDEN]
    return {
        "name": task.name,
        "category": task.category,
        "formula": task.formula,
        "precisions": [p.value for p in task.precisions],
        "prototypes": list(dict.fromkeys(prototypes)),
        "waste": task.waste,
        "strategies": list(task.strategies),
        "notes": task.notes,
        "cases": [{"set": case.set.value, "name": case.name} for case in shown],
        "sha256": task.sha256,
    }
