"""One leg of a run: from where it is to its end, or until one of its rounds has been judged."""

from __future__ import annotations

from pathlib import Path

import tenacity
from langgraph.runtime import RunControl

from ..benchmark.task import Unit
from ..graph.errors import RunBusy, RunExists, RunFinished, UnknownRun
from ..graph.manifest import read_manifest
from ..graph.run import OnStep, Step, look, resume, start
from ..graph.story import read_state
from ..nodes.context import Options
from ..tools.result.summary import Summary
from .suite import NO_CAPS, Suite


class _Judged(Exception):
    """The round that a leg ends with is judged. Leaving a run between two steps loses nothing of it."""


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(RunBusy),
    wait=tenacity.wait_fixed(0.5),
    stop=tenacity.stop_after_delay(900),
    reraise=True,
)
def advance(
    suite: Suite,
    unit: Unit,
    run: str,
    options: Options,
    home: Path | None = None,
    control: RunControl | None = None,
    on_step: OnStep | None = None,
) -> Summary:
    """Start or resume a run; the worker of a suite that was killed may still hold it until its step is done.

    Raises:
        RunInterrupted: `control` was asked to stop.
        RunError, ModelError, DeviceUnavailable: as `start` and `resume` do.
    """
    try:
        return start(
            unit.task,
            unit.precision,
            options,
            run_id=run,
            home=home,
            checkpoints=suite.checkpoints,
            control=control,
            on_step=on_step,
        )
    except RunExists:
        pass
    begun = read_manifest(run, home).options
    caps = {cap: getattr(options, cap) for cap in NO_CAPS if getattr(options, cap) != getattr(begun, cap)}
    try:
        return resume(run, home=home, changes=caps, control=control, on_step=on_step)
    except RunFinished:
        return look(run, home=home)


def advance_to(
    suite: Suite, unit: Unit, run: str, options: Options, upto: int, home: Path | None, control: RunControl | None
) -> Summary:
    """Advance a run until its round `upto` is judged: before its profile if it is a new best, else with its record.

    Raises:
        RunInterrupted: `control` was asked to stop.
    """
    if _judged(run, home) >= upto:
        return look(run, home=home)

    def watch(step: Step) -> None:
        if step.event == "end" and step.round >= upto and (step.route == "profiler" or step.node == "recorder"):
            raise _Judged

    try:
        return advance(suite, unit, run, options, home, control, watch)
    except _Judged:
        return look(run, home=home)


def _judged(run: str, home: Path | None) -> int:
    """Return how many rounds of a run have been judged."""
    try:
        _, context, state = read_state(run, home)
    except UnknownRun:
        return 0
    match state.get("route"):
        case "profiler":
            return state["round"]
        case "finisher" | "__end__":
            return context.rounds
        case _:
            return state.get("round", 1) - 1
