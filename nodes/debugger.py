"""debugger: a repaired file, and what was wrong with the one that failed."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..models.parse import parse_repair
from .ask_agent import ask_agent
from .context import Context, context_for
from .state import State


def debugger(state: State, runtime: Runtime[Context]) -> State:
    """Ask the debugger to mend the candidate that failed to build or run."""
    context = context_for(runtime)
    contract = load_task(state["task"]).contract
    prototype = contract.prototype(Precision(state["precision"]))
    repair, update = ask_agent("debugger", state, context, lambda text: parse_repair(text, contract.entry, prototype))
    if repair is None:
        return update
    candidate = {
        **(state["candidate"] or {}),
        "source": context.store.put(repair.source),
        "build": "",
        "attempt": state["attempt"],
    }
    return {**update, "candidate": candidate, "route": "build"}
