"""One unit of a suite, in a process of its own: `python -m cudamaster.evals.unit SUITE UNIT HOME`."""

from __future__ import annotations

import ctypes
import signal
import sys
import time
from pathlib import Path

import tenacity
from langgraph.runtime import RunControl

from ..benchmark.task import Unit
from ..graph.errors import RunBusy, RunError, RunExists, RunFinished, RunInterrupted
from ..graph.run import look, resume, start
from ..models.errors import ModelError
from ..tools.device.port import DeviceUnavailable
from ..tools.result.summary import Summary
from .suite import ENDED, Suite, UnitResult, read_results, read_suite, run_id_of, write_result

_PR_SET_PDEATHSIG = 1


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
        summary: Summary | None = _advance(suite, unit, run, home, control)
        error = ""
    except RunInterrupted:
        raise
    except (RunError, ModelError, DeviceUnavailable) as fault:
        summary, error = None, str(fault)
    result = UnitResult(
        unit=unit,
        run=run,
        status=summary.status if summary else "failed",
        summary=summary,
        error=error,
        seconds=round(time.monotonic() - began, 3),
    )
    if result.status in ENDED:
        write_result(suite, result, home)
    return result


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(RunBusy),
    wait=tenacity.wait_fixed(0.5),
    stop=tenacity.stop_after_delay(900),
    reraise=True,
)
def _advance(suite: Suite, unit: Unit, run: str, home: Path | None, control: RunControl | None) -> Summary:
    """Start or resume the run; the worker of a suite that was killed may still hold it until its step is done."""
    try:
        return start(unit.task, unit.precision, suite.options, run_id=run, home=home, control=control)
    except RunExists:
        pass
    try:
        return resume(run, home=home, control=control)
    except RunFinished:
        return look(run, home=home)


def main(suite_id: str, unit_name: str, home: str) -> int:
    """Do one unit. Exit code 0: a result was written; 3: it waits; 130: stopped between two steps."""
    suite = read_suite(suite_id, Path(home))
    unit = next(u for u in suite.units if u.name == unit_name)
    control = RunControl()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: control.request_drain(signal.Signals(number).name))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # a suite that is killed takes its workers along
    try:
        result = run_unit(suite, unit, Path(home), control)
    except RunInterrupted:
        return 130
    if result.status not in ENDED:
        print(result.summary.reason if result.summary else result.status, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
