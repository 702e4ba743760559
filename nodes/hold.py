"""Faults that are not the candidate's: wait for a device, or try once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.types import interrupt

from .context import Context
from .state import NodeName, State

WAITING_DEVICE = "waiting_device"
INFRA_ERROR = "infra_error"


def wait_for_device(node: NodeName, reason: str, context: Context) -> State:
    """Pause until the run goes on where its device is; then the node is tried again.

    The node must have done nothing yet that may not be done twice. It leads to itself rather than asking again, so
    that every pause has an id of its own and no answer reaches the wrong one.
    """
    interrupt({"kind": "device", "node": node, "device": context.device, "reason": reason})
    return {"route": node}


def held_up(node: NodeName, answer: Mapping[str, Any], state: State, context: Context) -> State | None:
    """Return the update that waits or tries again if a tool's answer asks for it, else None."""
    status = answer.get("status")
    if status == WAITING_DEVICE:
        return wait_for_device(node, str(answer.get("reason", "")), context)
    if status in (INFRA_ERROR, "noisy") and state.get("tries", 0) == 0:
        return {"route": node, "tries": 1}
    return None
