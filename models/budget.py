"""What a run may spend, checked before each call."""

from __future__ import annotations

import time
from functools import cached_property

from .errors import ModelConfigError
from .prices import Prices, load_prices
from .reply import Spent


class BudgetExceeded(RuntimeError):
    """The next call would pass a cap. The run ends with its best so far; a resume with a higher cap goes on."""


class Budget:
    """Caps on money, tokens, calls and wall time; None: no cap. What was spent is the journal's to say.

    `max_wall_s` counts from the making of this object: the time of this start or resume, not that of a pause.
    """

    def __init__(
        self,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        max_calls: int | None = None,
        max_wall_s: float | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.max_usd, self.max_tokens, self.max_calls, self.max_wall_s = max_usd, max_tokens, max_calls, max_wall_s
        self._prices = prices
        self._started = time.monotonic()

    @cached_property
    def prices(self) -> Prices:
        """The price table that calls are reckoned with."""
        return self._prices or load_prices()

    def check_price(self, model: str) -> None:
        """Refuse a cap on money that cannot be kept, before anything is done.

        Raises:
            ModelConfigError: the price of `model` is not known.
        """
        if self.max_usd is not None and self.prices.price(model) is None:
            raise ModelConfigError(self._no_price(model))

    @staticmethod
    def _no_price(model: str) -> str:
        return (
            f"the price of {model!r} is not known, so --max-usd can't be kept: give it in a price table "
            "($CUDAMASTER_PRICES), or cap --max-tokens instead"
        )

    def check(self, spent: Spent, *, model: str = "", input_tokens: int = 0) -> None:
        """Refuse a call to `model` with about `input_tokens` if it would pass a cap.

        Raises:
            BudgetExceeded: the message says which cap, what was spent, and how to go on.
        """
        if self.max_calls is not None and spent.calls >= self.max_calls:
            raise BudgetExceeded(f"{spent.calls} model calls made, --max-calls is {self.max_calls}")
        if self.max_tokens is not None and spent.tokens + input_tokens > self.max_tokens:
            raise BudgetExceeded(
                f"{spent.tokens} tokens used, the next question has about {input_tokens}, "
                f"--max-tokens is {self.max_tokens}"
            )
        elapsed_s = time.monotonic() - self._started
        if self.max_wall_s is not None and elapsed_s >= self.max_wall_s:
            raise BudgetExceeded(f"{elapsed_s:.0f} s elapsed, --max-wall is {self.max_wall_s:g} s")
        if self.max_usd is not None:
            self._check_usd(self.max_usd, spent, model, input_tokens)

    def _check_usd(self, max_usd: float, spent: Spent, model: str, input_tokens: int) -> None:
        next_usd = self.prices.cost_usd(model, input_tokens, 0)
        if next_usd is None:
            raise BudgetExceeded(self._no_price(model))
        if spent.unpriced_calls:
            raise BudgetExceeded(
                f"{spent.unpriced_calls} calls of this run have no known price, so --max-usd can't be kept: "
                "cap --max-tokens instead"
            )
        if spent.usd + next_usd > max_usd or (next_usd > 0 and spent.usd >= max_usd):
            raise BudgetExceeded(
                f"${spent.usd:.4f} spent, the next question costs ${next_usd:.4f} or more, --max-usd is {max_usd:g}"
            )
