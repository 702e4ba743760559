"""build: compile the candidate."""

from __future__ import annotations

import re

from langgraph.runtime import Runtime

from ..tools.records import Build, Status
from .context import Context, context_for
from .hold import held_up
from .judgement import after_failure
from .state import NodeName, State, Version, Word
from .tuner import wanted
from .versions import build_version


def build(state: State, runtime: Runtime[Context]) -> State:
    """Compile; an error of the source goes to the debugger, one of an option or the architecture to the compiler."""
    context = context_for(runtime)
    candidate = Version.model_validate(state["candidate"])
    answer = build_version(candidate, state, context)
    if update := held_up("build", answer, state, context):
        return update
    if "build" not in answer:
        return after_failure(candidate, _word(answer["status"], answer["reason"], context), "debugger", state, context)
    built = Build.model_validate(answer["build"])
    candidate = candidate.model_copy(update={"build": context.store.put_json(answer["build"])})
    if not built.ok:
        status = {"unsupported": Status.UNSUPPORTED, "infra": Status.INFRA_ERROR}.get(built.failure, Status.BUILD_ERROR)
        mender: NodeName = "compiler" if built.failure in ("option", "arch") else "debugger"
        return after_failure(candidate, _word(status, built.log, context), mender, state, context)
    route: NodeName = "tuner" if wanted(candidate, state, context) else "run"
    return {"candidate": candidate.model_dump(mode="json"), "tries": 0, "route": route}


def _word(status: str, log: str, context: Context) -> Word:
    return Word(status=status, summary=telling_line(log)[:300] or status, detail=context.store.put(log))


def telling_line(log: str) -> str:
    """Return the line of a compiler's log that says what was wrong: the first error, else the first line."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("$ ")]
    telling = r"\berror\b|required symbol|undefined reference"  # the linker's own words come before "ld returned 1"
    return next((line for line in lines if re.search(telling, line, re.I)), "".join(lines[:1]))
