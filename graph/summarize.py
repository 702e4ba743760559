"""The outcome of a run so far, from its state and the questions that are open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.types import Interrupt

from ..nodes.context import Context
from ..nodes.spent import spent
from ..nodes.state import State, Version
from ..tools.records import Candidate, read_gain
from ..tools.result.summary import BestKernel, Question, RunStatus, Summary, figures
from .manifest import Manifest

_PAUSES: dict[str, RunStatus] = {"question": "waiting_model", "device": "waiting_device", "budget": "stopped_budget"}


def summarize(
    manifest: Manifest,
    context: Context,
    state: State,
    interrupts: Sequence[Interrupt],
    status: RunStatus = "interrupted",
    reason: str = "",
) -> Summary:
    """Return the summary; `status` and `reason` are for a run that neither has ended nor waits."""
    questions = tuple(_question(item) for item in interrupts)
    if state.get("result"):
        return _here(Summary.model_validate(state["result"]), context).model_copy(update={"questions": questions})
    if questions:
        status, reason = _PAUSES[questions[0].kind], questions[0].reason
    history = state.get("history", [])
    best, gain = None, {}
    if state.get("winners"):
        version = Version.model_validate(state["best"])
        gain = figures(read_gain(context.store.get_json(version.gain)))
        best = BestKernel(
            sha256=Candidate(source=context.store.text(version.source), spec=version.spec).sha256,
            spec=version.spec,
            round=version.round,
            attempt=version.attempt,
            file=str(context.store.path(version.source)),
            verified="judged once; a finished run judges it again",
        )
    return Summary(
        run=manifest.run_id,
        unit=manifest.unit,
        task=manifest.task,
        precision=manifest.precision,
        device=context.device,
        gpu=state.get("hardware", {}).get("gpu", ""),
        model=context.model,
        status=status,
        reason=reason,
        best=best,
        rounds=max(0, state.get("round", 1) - 1),
        attempts=len(history),
        spent=spent(context),
        questions=questions,
        **gain,
    )


def _here(summary: Summary, context: Context) -> Summary:
    """Return a finished run's summary with the paths of this home: the run may have ended on another machine."""
    folder = context.folder / "result"
    best = summary.best and summary.best.model_copy(update={"file": str(folder / "kernel.cu")})
    return summary.model_copy(update={"result": str(folder), "best": best})


def _question(item: Interrupt) -> Question:
    value: dict[str, Any] = item.value
    return Question(
        id=value.get("id", item.id),
        kind=value["kind"],
        agent=value.get("agent", ""),
        prompt=value.get("prompt", ""),
        reason=value.get("reason", ""),
    )
