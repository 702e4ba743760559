"""One unit of a suite: its run, or the runs of its search, as far as they go."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langgraph.runtime import RunControl

from ..benchmark.registry import UnknownTask
from ..benchmark.task import Unit
from ..graph.errors import ModelRefused, RunError, RunInterrupted
from ..models.errors import ModelError
from ..tools.device.port import DeviceUnavailable
from ..tools.store import MissingArtifact
from .leg import advance
from .search import best_of_n
from .suite import ENDED, Suite, UnitResult, log_file, read_results, run_id_of, write_result


def run_unit(suite: Suite, unit: Unit, home: Path | None = None, control: RunControl | None = None) -> UnitResult:
    """Advance a unit as far as it goes: start its run, or resume it, or take its result if it has ended.

    The result is written when the unit has ended; one that waits (for a model, a device) is returned only.

    Raises:
        RunInterrupted: `control` was asked to stop; the next call goes on.
    """
    if (done := read_results(suite, home).get(unit)) is not None:
        return done
    began = time.monotonic()
    run = run_id_of(suite, unit)
    try:
        if suite.search.kind == "best-of-n":
            result = best_of_n(suite, unit, home, control)
        else:
            summary = advance(suite, unit, run, suite.options, home, control)
            result = UnitResult(unit=unit, run=run, status=summary.status, summary=summary)
    except RunInterrupted:
        raise
    except ModelRefused as fault:  # a wrong key, a model that is gone: mended, the run goes on
        result = UnitResult(unit=unit, run=run, status="waiting_model", error=str(fault))
    except DeviceUnavailable as fault:  # a GPU that was lost: the units go on where there is one
        result = UnitResult(unit=unit, run=run, status="waiting_device", error=str(fault))
    except (RunError, ModelError, UnknownTask, MissingArtifact) as fault:
        result = UnitResult(unit=unit, run=run, status="failed", error=str(fault))
    result = result.model_copy(update={"seconds": round(time.monotonic() - began, 3)})
    if result.status in ENDED:
        write_result(suite, result, home)
    return result


def work(suite: Suite, unit: Unit, home: Path, control: RunControl | None = None) -> UnitResult | None:
    """Do one unit in a worker's process, its output in the unit's log; None: it was stopped between two steps."""
    with _logged(log_file(suite, unit, home)):
        try:
            result = run_unit(suite, unit, home, control)
        except RunInterrupted:
            return None
        if result.status not in ENDED:
            print((result.summary and result.summary.reason) or result.error or result.status, file=sys.stderr)
        return result


@contextmanager
def _logged(file: Path) -> Iterator[None]:
    """Send what this process and its children print to a file; an error is printed there too."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = [os.dup(1), os.dup(2)]
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        for number in (1, 2):
            os.dup2(log, number)
        yield
    except Exception:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        os.close(log)
