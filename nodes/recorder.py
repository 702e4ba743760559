"""recorder: close the round, and decide whether there is another."""

from __future__ import annotations

from langgraph.runtime import Runtime

from .context import Context, context_for
from .state import State, Version, Word
from .stop import nothing_left
from .versions import attempt_record


def recorder(state: State, runtime: Runtime[Context]) -> State:
    """Write the round's last attempt into the history, keep a new best, and go on while rounds are left."""
    context = context_for(runtime)
    candidate = Version.model_validate(state["candidate"]) if state.get("candidate") else None
    word = Word.model_validate(state["word"])
    update: State = {
        "history": [attempt_record(state, word, context, candidate)],
        "tokens": {},
        "plan": None,
        "candidate": None,
        "word": None,
        "improved": False,
        "asks": 0,
        "complaint": "",
    }
    if candidate and state.get("improved"):
        update["best"] = candidate.model_dump(mode="json")
        update["winners"] = [*state["winners"], candidate.model_dump(mode="json")]
        if stop := nothing_left(candidate, context):
            return {**update, "stop": stop, "route": "finisher"}
    if state["round"] >= context.rounds:
        return {**update, "route": "finisher"}
    return {**update, "round": state["round"] + 1, "attempt": 0, "route": "planner"}
