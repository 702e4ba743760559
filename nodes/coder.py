"""coder: the whole source file that carries out the plan."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..models.parse import parse_source
from .ask_agent import ask_agent
from .context import Context, context_for
from .state import State, Version


def coder(state: State, runtime: Runtime[Context]) -> State:
    """Ask the Coder to write the plan into the best version."""
    context = context_for(runtime)
    contract = load_task(state["task"]).contract
    prototype = contract.prototype(Precision(state["precision"]))
    source, update = ask_agent("coder", state, context, lambda text: parse_source(text, contract.entry, prototype))
    if source is None:
        return update
    candidate = Version(source=context.store.put(source), round=state["round"], attempt=state["attempt"])
    return {**update, "candidate": candidate.model_dump(mode="json"), "route": "compiler"}
