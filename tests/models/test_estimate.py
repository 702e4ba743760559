"""What a run would cost, before it is started."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.estimate import Estimate, estimate_run
from cudamaster.models.prices import Price, Prices

PRICES = Prices(date="2026-01-01", models={"m": Price(input=1.0, output=10.0)})


def estimated(rounds: int = 3, repairs: int = 3, model: str = "m") -> Estimate:
    task = load_task("dot_product")
    return estimate_run(task, Precision.FP32, rounds=rounds, repairs=repairs, model=model, prices=PRICES)


def test_calls_run_from_no_repair_to_all() -> None:
    calls = estimated(rounds=3, repairs=2).calls
    assert (calls.low, calls.high) == (9, 15)


def test_money_follows_from_tokens_and_price() -> None:
    told = estimated()
    assert told.usd is not None
    assert told.usd.low == pytest.approx((told.input_tokens.low + 10 * told.output_tokens.low) / 1e6)
    assert told.usd.high == pytest.approx((told.input_tokens.high + 10 * told.output_tokens.high) / 1e6)


def test_spans_are_plausible_and_grow_with_the_run() -> None:
    short, long = estimated(rounds=1, repairs=0), estimated(rounds=5, repairs=5)
    for span in (short.input_tokens, short.output_tokens):
        assert 500 < span.low < span.high < 100_000
    assert long.input_tokens.low > 4 * short.input_tokens.low, "more rounds, and more history in each"
    assert long.output_tokens.high > 10 * short.output_tokens.high


def test_a_model_without_a_price_costs_nobody_knows_what() -> None:
    assert estimated(model="unheard-of").usd is None
    free = estimated(model="offline").usd
    assert free is not None
    assert free.high == 0.0
