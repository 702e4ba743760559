"""Find a task by its name in the benchmark, or by the path of a folder of the user's own."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from .contract import Precision
from .task import Task, Unit

_TASKS = Path(__file__).parent / "tasks"


class UnknownTask(LookupError):
    """No such task, or a folder that cannot be used as one: the message names the nearest ones, or says why."""


def task_names() -> list[str]:
    """Return the names of the benchmark's tasks, sorted."""
    return sorted(path.parent.name for path in _TASKS.glob("*/task.py"))


@cache
def load_task(name: str) -> Task:
    """Load a task by name, or by the path of a folder that holds `task.py`, `fp32.cu` and `bf16.cu`.

    Raises:
        UnknownTask: there is no such task, or its `task.py` cannot be used.
    """
    if _is_benchmarks(name):
        task: Task = importlib.import_module(f".tasks.{name}.task", __package__).TASK
        return dataclasses.replace(task, folder=_TASKS / name)
    folder = Path(name)
    if (folder / "task.py").is_file():
        return dataclasses.replace(_own(folder / "task.py"), folder=folder.resolve())
    if folder.is_dir():
        raise UnknownTask(f"folder {name} holds no task.py: `cudamaster init FILE.cu` makes a task folder")
    if "/" in name:
        raise UnknownTask(f"there is no task folder {name}: `cudamaster init FILE.cu` makes one")
    import difflib

    near = difflib.get_close_matches(name, task_names(), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "`cudamaster tasks` lists them"
    raise UnknownTask(f"unknown task {name!r}: {hint}")


def lasting_name(name: str) -> str:
    """Return what a task is called from wherever one stands: its name in the benchmark, or its folder's whole path."""
    return name if _is_benchmarks(name) else str(Path(name).resolve())


def choose_units(tasks: Sequence[str], precisions: Sequence[Precision] = ()) -> list[Unit]:
    """Return the units of these tasks, all of the benchmark's if empty; without precisions, in each that a task has.

    Raises:
        UnknownTask: there is no such task, or two folders have the same name.
        NoBaseline: a task has no kernel in one of the precisions.
    """
    units = []
    for name in tasks or task_names():
        task = load_task(name)
        for precision in precisions or task.precisions:
            task.source(precision)
            units.append(Unit(task=lasting_name(name), precision=precision))
    units = list(dict.fromkeys(units))
    names = [unit.name for unit in units]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UnknownTask(f"two of the tasks are called {twice}: rename one of the folders, or take one at a time")
    return units


def _is_benchmarks(name: str) -> bool:
    return name.isidentifier() and (_TASKS / name / "task.py").is_file()


def _own(file: Path) -> Task:
    """Run the user's `task.py`, whatever it may raise, and return its task."""
    spec = importlib.util.spec_from_file_location(f"cudamaster_task_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise UnknownTask(f"{file} cannot be used: {type(error).__name__}: {why}") from error
    task = getattr(module, "TASK", None)
    if not isinstance(task, Task):
        raise UnknownTask(f"{file} cannot be used: it defines no TASK = own_task(…)")
    return task
