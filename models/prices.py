"""What models cost: a dated table, and the user's own over it."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

from pydantic import Field, ValidationError

from ..tools.records import Record
from .errors import ModelConfigError

FREE = frozenset({"offline", "mailbox", "replay"})
"""Models that cost nothing to ask here."""


class Price(Record):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """None: as `input`."""


class Prices(Record):
    """A table of list prices by exact model name: standard tier, prompts of ordinary length."""

    date: str
    """When the table was made, ISO."""
    models: dict[str, Price]

    def price(self, model: str) -> Price | None:
        """Return a model's price; None if it is not in the table."""
        return Price(input=0, output=0) if model in FREE else self.models.get(model)

    def cost_usd(self, model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """Return what a call costs; None if the price is not known."""
        price = self.price(model)
        if price is None:
            return None
        cached = price.input if price.cached_input is None else price.cached_input
        full = max(0, input_tokens - cached_tokens)
        return (full * price.input + min(cached_tokens, input_tokens) * cached + output_tokens * price.output) / 1e6


def load_prices(path: str | Path | None = None) -> Prices:
    """Return the built-in table with the user's entries over it: a file of the same form, or `$CUDAMASTER_PRICES`.

    Raises:
        ModelConfigError: the user's file can't be read.
    """
    table = Prices.model_validate_json((files(__package__) / "prices.json").read_text())
    own = path or os.environ.get("CUDAMASTER_PRICES")
    if not own:
        return table
    try:
        extra = Prices.model_validate({"date": table.date, **json.loads(Path(own).read_text())})
    except OSError as error:
        raise ModelConfigError(f"price table {own}: {error.strerror}") from None
    except (ValidationError, ValueError, TypeError) as error:
        example = '{"date": "2026-11-30", "models": {"my-model": {"input": 1.25, "output": 10}}}'
        raise ModelConfigError(f"price table {own} can't be read ({_short(error)}); expected {example}") from None
    return Prices(date=extra.date, models={**table.models, **extra.models})


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
