"""The `bench` command: a suite with live progress, then its table."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..benchmark.contract import Precision
from ..benchmark.task import Unit
from ..graph.advance import cores
from ..graph.errors import RunError
from ..nodes.context import Options, default_home
from ..tools.device.select import get_device
from .bench import bench, choose_units
from .local import LocalExecutor
from .suite import UnitResult, open_suite, read_results, suite_folder
from .table import gains, markdown, suite_score


def run_bench(
    tasks: Sequence[str],
    *,
    suite_id: str,
    precisions: Sequence[str],
    device: str,
    options: Mapping[str, Any],
    jobs: int | None,
    home: Path | None,
    as_json: bool,
) -> int:
    """Run a suite and print its results. Return 0 if every unit has ended, 3 if some still wait, 130 if stopped.

    Raises:
        UnknownTask, DeviceUnavailable, RunError: one clear line each.
    """
    home = (home or default_home()).resolve()
    chosen = get_device(device)
    chosen.info()
    try:
        settings = Options.model_validate({**options, "device": chosen.name})
    except ValidationError as error:
        raise RunError(f"option {error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None
    units = choose_units(tasks, [Precision(p) for p in precisions])
    suite = open_suite(suite_id, units, settings, home)
    executor = LocalExecutor(jobs or cores())
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        executor.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    err = Console(stderr=True, markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=err, disable=as_json) as progress:
        bar = progress.add_task(suite.id, total=len(units), completed=len(read_results(suite, home)))

        def show(unit: Unit, result: UnitResult | None) -> None:
            if result is None:
                progress.print(f"{unit.name}: waits or stopped; see {suite_folder(suite.id, home) / 'logs'}")
                return
            gain = f"{result.gain:.3g}x" if result.gain else "-"
            progress.print(f"{unit.name:<28} {result.status.replace('_', ' '):<14} {gain:>8} {result.seconds:7.1f} s")
            progress.advance(bar)

        results = bench(suite, executor, home, show)
    if as_json:
        score = suite_score(suite, results)
        body = {
            "suite": suite.model_dump(mode="json"),
            "results": [results[unit].model_dump(mode="json") for unit in suite.units if unit in results],
            "score": vars(score),
            "gains": gains(suite, results),
        }
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    else:
        sys.stdout.write(markdown(suite, results))
    if stopped:
        err.print(f"cudamaster: stopped; the same command with --suite {suite.id} goes on")
        return 130
    return 0 if len(results) == len(units) else 3
