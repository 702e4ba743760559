"""planner: one strategy, from the bottleneck of the best version and the history."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..models.parse import parse_plan
from .ask_agent import ask_agent
from .context import Context, context_for
from .state import State


def planner(state: State, runtime: Runtime[Context]) -> State:
    """Ask the Planner for the strategy of this round."""
    context = context_for(runtime)
    plan, update = ask_agent("planner", state, context, parse_plan)
    if plan is None:
        return update
    told = plan.model_dump(mode="json")
    return {**update, "plan": told, "plans": [context.store.put_json(told)], "route": "coder"}
