"""Traces in LangSmith: off unless its environment variables turn them on, short, and never in the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

TEXT: Final = 2000
"""Characters of a text that a trace keeps."""

ITEMS: Final = 20
"""Entries of a list that a trace keeps."""

FLUSH_S: Final = 5.0
"""Longest wait at the end of a command for traces that are still on their way."""


def shorten(value: Any) -> Any:
    """Return a payload cut to a readable length: long texts and lists say what was left out."""
    if isinstance(value, str):
        return value if len(value) <= TEXT else f"{value[:TEXT]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        kept = [shorten(item) for item in value[:ITEMS]]
        return kept if len(value) <= ITEMS else [*kept, f"… ({len(value)} entries)"]
    return value


@contextmanager
def traced() -> Iterator[None]:
    """Send what runs inside to LangSmith if its environment variables ask for it, payloads shortened."""
    from langsmith.utils import tracing_is_enabled

    if not tracing_is_enabled():
        yield
        return
    # A server that does not answer must not keep the process from ending: its threads end with it.
    os.environ.setdefault("LANGSMITH_USE_DAEMON", "true")
    from langsmith import Client, tracing_context

    client = Client(hide_inputs=shorten, hide_outputs=shorten)
    try:
        with tracing_context(enabled=True, client=client):
            yield
    finally:
        client.flush(timeout=FLUSH_S)
