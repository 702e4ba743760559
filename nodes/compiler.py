"""compiler: how to build the candidate, from an allow-list of options."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..models.parse import parse_spec
from .ask_agent import ask_agent
from .context import Context, context_for
from .state import State


def compiler(state: State, runtime: Runtime[Context]) -> State:
    """Ask the Compiler for the candidate's BuildSpec; nothing is compiled here."""
    spec, update = ask_agent("compiler", state, context_for(runtime), parse_spec)
    if spec is None:
        return update
    candidate = {**(state["candidate"] or {}), "spec": spec.model_dump(mode="json"), "build": ""}
    return {**update, "candidate": candidate, "route": "build"}
