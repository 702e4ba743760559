"""Run suites with a live view; Ctrl-C or SIGTERM stops them between two steps."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..benchmark.task import Unit
from ..graph.executor import Executor
from .bench import bench
from .suite import Suite, UnitResult, log_file, read_results


def run_watched(suites: Sequence[Suite], executor: Executor, home: Path, *, quiet: bool) -> int:
    """Run suites. Return 0 if every unit has ended, 3 if some still wait, 130 if stopped: the same call goes on."""
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        executor.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    err = Console(stderr=True, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done = sum(len(read_results(suite, home)) for suite in suites)
    units = sum(len(suite.units) for suite in suites)
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=err, disable=quiet) as progress:
        bar = progress.add_task(suites[0].id if len(suites) == 1 else "suites", total=units, completed=done)

        def show(suite: Suite, unit: Unit, result: UnitResult | None) -> None:
            name = unit.name if len(suites) == 1 else f"{suite.id} {unit.name}"
            if result is None:
                progress.print(f"{name}: waits or was stopped; see {log_file(suite, unit, home)}")
                return
            gain = f"{result.gain:.3g}x" if result.gain else "-"
            progress.print(f"{name:<36} {result.status.replace('_', ' '):<14} {gain:>8} {result.seconds:7.1f} s")
            progress.advance(bar)

        bench(suites, executor, home, show)
    if stopped:
        err.print("cudamaster: stopped; the same command goes on")
        return 130
    return 0 if sum(len(read_results(suite, home)) for suite in suites) == units else 3
