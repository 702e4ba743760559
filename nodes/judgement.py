"""Where a candidate goes that was not passed: to a repair while there are some left, else into the record."""

from __future__ import annotations

from ..tools.records import Status
from .context import Context
from .state import NodeName, State, Version, Word
from .versions import attempt_record

_REPAIRABLE = frozenset(
    {Status.BUILD_ERROR, Status.LAUNCH_ERROR, Status.WRONG, Status.TIMEOUT, Status.CRASH, Status.FORBIDDEN}
)
"""What a debugger can mend. A suspect or unchanged kernel needs another plan, and a device's fault no change at all."""


def after_failure(candidate: Version, word: Word, mender: NodeName, state: State, context: Context) -> State:
    """Return the update that sends a failed candidate to `mender`, or to the recorder if no repair may follow."""
    update: State = {
        "candidate": candidate.model_dump(mode="json"),
        "word": word.model_dump(mode="json"),
        "improved": False,
        "tries": 0,
    }
    if word.status not in _REPAIRABLE or state["attempt"] >= context.repairs:
        return {**update, "route": "recorder"}
    return {
        **update,
        "history": [attempt_record(state, word, context, candidate)],
        "tokens": {},
        "attempt": state["attempt"] + 1,
        "route": mender,
    }
