"""A model's answer as it is kept."""

from __future__ import annotations

from pydantic import Field

from ..prompts.brief import AGENTS
from ..tools.records import Record


class Reply(Record):
    """One answer: its text, how it ended, and what it cost."""

    text: str
    """The answer proper; reasoning that came in a field of its own is in `reasoning`."""
    finish_reason: str = ""
    """`stop`, `length` (cut off), `content_filter`, or the provider's own word; empty if not told."""
    model: str = ""
    """The name that the endpoint (or the person who answered) gave."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Those of the input tokens that were read from the provider's cache."""
    cost_usd: float | None = None
    """None: the price of this model is not known."""
    tokens_estimated: bool = False
    """The endpoint told no usage: the counts are estimates."""
    reasoning: str = ""
    seconds: float = 0.0
    """From question to answer, retries included (0 for a mailbox)."""


class Spent(Record):
    """What a number of calls cost together."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    """Of the calls with a known price."""
    unpriced_calls: int = 0
    estimated_calls: int = Field(default=0)
    """Calls whose token counts are estimates."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def plus(self, reply: Reply) -> Spent:
        """Return the total with one more call."""
        return Spent(
            calls=self.calls + 1,
            input_tokens=self.input_tokens + reply.input_tokens,
            output_tokens=self.output_tokens + reply.output_tokens,
            usd=self.usd + (reply.cost_usd or 0.0),
            unpriced_calls=self.unpriced_calls + (reply.cost_usd is None),
            estimated_calls=self.estimated_calls + reply.tokens_estimated,
        )


def agent_of(step: str) -> str:
    """Return the agent that a step's name holds, e.g. `planner` for `001.00.planner.0`; empty if none."""
    return next((part for part in step.split(".") if part in AGENTS), "")


def round_of(step: str) -> int:
    """Return the round that a step's name begins with; 0 if it has none."""
    first = step.partition(".")[0]
    return int(first) if first.isdigit() else 0
