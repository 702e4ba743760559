"""Run suites: every unit that has no result yet, with progress, resumable at any instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..benchmark.task import Unit
from ..graph.executor import Call, Died, Executor
from .suite import Suite, UnitResult, log_file, read_results, run_id_of, write_result
from .unit import work

OnUnit = Callable[[Suite, Unit, UnitResult | None], None]
"""Called with each unit as it ends; None: it waits for something (its log says for what) or was stopped."""

TRIES = 2
"""Processes that may die on one unit before that is its result."""


def bench(suites: Sequence[Suite], executor: Executor, home: Path, on_unit: OnUnit | None = None) -> None:
    """Run the units that have no result yet, of all suites together.

    A unit that has ended never runs again; one that was interrupted goes on from its last checkpoint; one whose
    process died is tried once more, after the others.
    """
    tell = on_unit or (lambda suite, unit, result: None)
    left = [(suite, unit) for suite in suites for unit in _open_units(suite, home)]
    for attempt in range(1, TRIES + 1):
        died = []
        for place, outcome in executor.run([Call(work, (suite, unit, home)) for suite, unit in left]):
            suite, unit = left[place]
            if isinstance(outcome, Died):
                if attempt < TRIES:
                    died.append((suite, unit))
                    continue
                outcome = _dead(suite, unit, home, outcome)
            tell(suite, unit, outcome)
        left = died


def _open_units(suite: Suite, home: Path) -> list[Unit]:
    done = read_results(suite, home)
    return [unit for unit in suite.units if unit not in done]


def _dead(suite: Suite, unit: Unit, home: Path, death: Died) -> UnitResult:
    error = f"it died {TRIES} times, at last because {death.why}: {log_file(suite, unit, home)} says more"
    result = UnitResult(unit=unit, run=run_id_of(suite, unit), status="failed", error=error)
    write_result(suite, result, home)
    return result
