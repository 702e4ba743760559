"""run: judge the candidate against the baseline."""

from __future__ import annotations

from typing import Any, Final

from langgraph.runtime import Runtime

from ..tools.records import Status
from .context import Context, context_for
from .hold import held_up
from .judgement import after_failure
from .state import State, Version, Word
from .versions import build_version, judge_version

_WORTH_KEEPING: Final = 1.01
"""What is within 1 % of the best is the same: the older kernel stays."""


def run(state: State, runtime: Runtime[Context]) -> State:
    """Check and time the candidate; a new best goes to the profiler, a failure to the debugger."""
    context = context_for(runtime)
    candidate, best = Version.model_validate(state["candidate"]), Version.model_validate(state["best"])
    if (candidate.source, candidate.spec) == (best.source, best.spec):  # it has been judged already
        word = Word(status=Status.UNCHANGED, summary="the candidate is the best version as it was")
        return after_failure(candidate, word, "debugger", state, context)
    built = build_version(candidate, state, context)
    baseline = Version.model_validate(state["baseline"])
    against = build_version(baseline, state, context)
    for answer in (built, against):
        if update := held_up("run", answer, state, context):
            return update
        if answer["status"] != "ok":  # it was built before, here or elsewhere: the machine is at fault
            word = Word(status="infra_error", summary=f"could not be built again: {answer.get('reason', '')}"[:300])
            return after_failure(candidate, word, "debugger", state, context)

    judged = judge_version(candidate, built["build"], against["build"], state, context, to_beat=best.value)
    if update := held_up("run", judged, state, context):
        return update
    word = _word(judged, context)
    candidate = candidate.model_copy(
        update={
            "build": context.store.put_json(built["build"]),
            "verdict": context.store.put_json(judged["verdict"]) if judged.get("verdict") else "",
        }
    )
    if judged["status"] != "pass":
        return after_failure(candidate, word, "debugger", state, context)
    gain = judged.get("gain")
    if gain:
        kept = context.store.put_json(gain)
        candidate = candidate.model_copy(update={"gain": kept, "value": headline(gain)})
        baseline = baseline.model_copy(update={"first_gain": baseline.first_gain or kept})
    improved = gain is not None and is_better(gain, best.value)
    return {
        "baseline": baseline.model_dump(mode="json"),
        "candidate": candidate.model_dump(mode="json"),
        "word": word.model_dump(mode="json"),
        "improved": improved,
        "tries": 0,
        "route": "profiler" if improved else "recorder",
    }


def is_better(gain: dict[str, Any], best: float) -> bool:
    """Return True if a gain is certainly above the best so far, and by enough that the change is worth keeping."""
    return certain_gain(gain) > best and headline(gain) > best * _WORTH_KEEPING


def headline(gain: dict[str, Any]) -> float:
    """Return the figure that ranks a gain: the geometric mean over the timed cases."""
    geomean = gain["geomean"]
    return float(geomean["value"] if gain["kind"] == "measured" else geomean)


def certain_gain(gain: dict[str, Any]) -> float:
    """Return what the gain is at least: the low end of a measured interval, or the estimate."""
    geomean = gain["geomean"]
    return float(geomean["low"] if gain["kind"] == "measured" else geomean)


def _word(judged: dict[str, Any], context: Context) -> Word:
    verdict = judged.get("verdict") or {}
    summary = verdict.get("summary") or judged.get("reason", "")
    return Word(
        status=judged["status"], summary=summary[:300], detail=context.store.put(verdict.get("detail") or summary)
    )
