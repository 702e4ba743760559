"""tuner: search the marked constants of a candidate on the device."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..prompts.brief import Plan
from ..tools.tunables import TUNE, tunables
from .context import Context, context_for
from .hold import held_up
from .state import State, Version


def tuner(state: State, runtime: Runtime[Context]) -> State:
    """Give the candidate the quickest of the values that are offered; where that can't be told it stays as it is."""
    context = context_for(runtime)
    candidate = Version.model_validate(state["candidate"])
    answer = context.toolbox.tune.invoke(
        {
            "source": context.store.text(candidate.source),
            "names": wanted(candidate, state, context),
            "spec": candidate.spec.model_dump(mode="json"),
            "task": state["task"],
            "precision": state["precision"],
            "device": context.device,
        }
    )
    if update := held_up("tuner", answer, state, context):
        return update
    if answer["status"] == "ok":
        found = {
            "source": context.store.put(answer["source"]),
            "build": context.store.put_json(answer["build"]),
            "tuned": answer["found"],
        }
        candidate = candidate.model_copy(update=found)
    return {"candidate": candidate.model_dump(mode="json"), "tries": 0, "route": "run"}


def wanted(candidate: Version, state: State, context: Context) -> list[str]:
    """Return the constants of a candidate to search: those that the best version lacks, or all if that is the plan.

    None on the cpu device: an estimate does not tell their values apart.
    """
    if not context.tune or context.device == "cpu":
        return []
    plan = Plan.model_validate(state["plan"]) if state.get("plan") else None
    best = Version.model_validate(state["best"])
    known = set() if plan and plan.strategy == TUNE else {one.name for one in tunables(context.store.text(best.source))}
    return [one.name for one in tunables(context.store.text(candidate.source)) if one.name not in known]
