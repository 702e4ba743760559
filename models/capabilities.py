"""What a model at an endpoint takes: a table by exact name, never a guess from a name's beginning."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ..tools.records import Record
from .errors import ModelConfigError

OPENAI_URL = "https://api.openai.com/v1"
"""Where `openai:<name>` goes if no base URL is given."""


class Capabilities(Record):
    """What may be sent to a model."""

    temperature: bool = True
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the endpoint calls the cap on output tokens."""
    reasoning_effort: tuple[str, ...] = ()
    """The values that it takes; empty: the parameter is not known there."""
    stream: bool = False
    """Ask for the answer as a stream: for endpoints that cut long silent requests."""
    stream_usage: bool = True
    """It takes `stream_options`, and tells usage at the end of a stream."""


def capabilities(name: str, base_url: str | None = None) -> Capabilities:
    """Look a model up by its exact name at an endpoint.

    From general to special: the default, the endpoint's default, the model, the model at that endpoint. The user's own
    table (`$CUDAMASTER_CAPABILITIES`, a file of the same form) comes over the built-in one at each of the four.

    Raises:
        ModelConfigError: the user's table can't be read.
    """
    url = (base_url or OPENAI_URL).rstrip("/")
    merged: dict[str, Any] = {}
    tables = _tables()
    for path in (("default",), ("endpoints", url, "default"), ("models", name), ("endpoints", url, "models", name)):
        for table in tables:
            merged |= _at(table, path)
    try:
        return Capabilities.model_validate(merged)
    except ValidationError as error:
        raise ModelConfigError(f"$CUDAMASTER_CAPABILITIES: {' '.join(str(error).split())[:200]}") from None


def _tables() -> list[dict[str, Any]]:
    tables = [json.loads((files(__package__) / "capabilities.json").read_text())]
    if own := os.environ.get("CUDAMASTER_CAPABILITIES"):
        try:
            tables.append(json.loads(Path(own).read_text()))
        except (OSError, ValueError) as error:
            raise ModelConfigError(f"$CUDAMASTER_CAPABILITIES={own} can't be read: {error}") from None
    return tables


def _at(table: object, path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}
