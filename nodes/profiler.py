"""profiler: count what a new best does, for the next plan."""

from __future__ import annotations

from langgraph.runtime import Runtime

from .context import Context, context_for
from .hold import held_up
from .state import State, Version
from .versions import build_version, count_version, diagnosed_version


def profiler(state: State, runtime: Runtime[Context]) -> State:
    """Profile and diagnose the new best; where there are no counters it stays without."""
    context = context_for(runtime)
    candidate = Version.model_validate(state["candidate"])
    built = build_version(candidate, state, context)
    if update := held_up("profiler", built, state, context):
        return update
    if built["status"] == "ok":
        counted = count_version(built["build"], state, context)
        if update := held_up("profiler", counted, state, context):
            return update
        candidate = diagnosed_version(candidate, built["build"], counted, state, context)
    return {"candidate": candidate.model_dump(mode="json"), "tries": 0, "route": "recorder"}
