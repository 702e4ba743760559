"""Run a suite: every unit that has no result yet, with progress, resumable at any instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task, task_names
from ..benchmark.task import Unit
from .executor import Executor
from .suite import Suite, UnitResult, read_results

OnUnit = Callable[[Unit, UnitResult | None], None]


def choose_units(tasks: Sequence[str], precisions: Sequence[Precision]) -> list[Unit]:
    """Return the units of these tasks (all if empty), in the benchmark's order.

    Raises:
        UnknownTask: there is no such task.
    """
    names = list(dict.fromkeys(tasks)) or task_names()
    for name in names:
        load_task(name)
    return [Unit(task=name, precision=precision) for name in names for precision in precisions]


def bench(suite: Suite, executor: Executor, home: Path, on_unit: OnUnit | None = None) -> dict[Unit, UnitResult]:
    """Run the units that have no result yet and return all results.

    A unit that has ended never runs again; one that was interrupted goes on from its last checkpoint.
    """
    done = read_results(suite, home)
    for unit, result in executor.run(suite, [u for u in suite.units if u not in done], home):
        if on_unit:
            on_unit(unit, result)
    return read_results(suite, home)
