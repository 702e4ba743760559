"""What a tool answers an agent: always a plain dict with a status, never an exception."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from .device.port import DeviceUnavailable, Unsupported

_P = ParamSpec("_P")


def answers(tool: Callable[_P, dict[str, Any]]) -> Callable[_P, dict[str, Any]]:
    """Turn the faults of a tool into answers: `waiting_device`, `unsupported` or `infra_error`, with the reason."""

    @wraps(tool)
    def answered(*args: _P.args, **kwargs: _P.kwargs) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except DeviceUnavailable as error:
            return {"status": "waiting_device", "reason": str(error)}
        except Unsupported as error:
            return {"status": "unsupported", "reason": str(error)}
        except Exception as error:
            return {"status": "infra_error", "reason": f"{type(error).__name__}: {error}"}

    return answered
