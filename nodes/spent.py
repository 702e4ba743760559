"""What a run has cost so far."""

from __future__ import annotations

from ..tools.result.summary import Spent
from .context import Context


def spent(context: Context) -> Spent:
    """Return calls, tokens and money, from the replies in the run's journal."""
    total = context.journal.spent()
    return Spent(
        calls=total.calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        usd=None if total.unpriced_calls else total.usd,
        tokens_estimated=total.estimated_calls > 0,
    )
