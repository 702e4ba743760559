"""Find a task by its name in the benchmark, or by the path of a folder of the user's own."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from functools import cache
from pathlib import Path

from .task import Task

_TASKS = Path(__file__).parent / "tasks"


class UnknownTask(LookupError):
    """No such task: the message names the nearest ones."""


def task_names() -> list[str]:
    """Return the names of the benchmark's tasks, sorted."""
    return sorted(path.parent.name for path in _TASKS.glob("*/task.py"))


@cache
def load_task(name: str) -> Task:
    """Load a task by name, or by the path of a folder that holds `task.py`, `fp32.cu` and `bf16.cu`.

    Raises:
        UnknownTask: there is no such task.
    """
    folder = Path(name)
    if name.isidentifier() and (_TASKS / name / "task.py").is_file():
        module = importlib.import_module(f".tasks.{name}.task", __package__)
        folder = _TASKS / name
    elif (folder / "task.py").is_file():
        spec = importlib.util.spec_from_file_location(f"cudamaster_task_{folder.name}", folder / "task.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        import difflib

        near = difflib.get_close_matches(name, task_names(), n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else "`cudamaster tasks` lists them"
        raise UnknownTask(f"unknown task {name!r}: {hint}")
    task: Task = module.TASK
    return dataclasses.replace(task, folder=folder.resolve())
