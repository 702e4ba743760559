"""Caps, prices, and what was spent by agent and round."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from cudamaster.models.budget import Budget, BudgetExceeded
from cudamaster.models.errors import ModelConfigError
from cudamaster.models.journal import Journal
from cudamaster.models.prices import Price, Prices, load_prices
from cudamaster.models.reply import Reply, Spent

PRICES = Prices(date="2026-01-01", models={"m": Price(input=1.0, output=10.0, cached_input=0.1)})


def spent(calls: int = 1, tokens: int = 0, usd: float = 0.0, unpriced: int = 0) -> Spent:
    return Spent(calls=calls, input_tokens=tokens, usd=usd, unpriced_calls=unpriced)


@pytest.mark.parametrize(
    ("budget", "so_far", "words"),
    [
        (Budget(max_calls=3), spent(calls=3), "3 model calls made, --max-calls is 3"),
        (Budget(max_calls=0), Spent(), "0 model calls made"),
        (Budget(max_tokens=1000), spent(tokens=901), "901 tokens used, the next question has about 100"),
        (Budget(max_wall_s=0.0), Spent(), "--max-wall is 0 s"),
        (Budget(max_usd=1.0, prices=PRICES), spent(usd=1.0), r"\$1.0000 spent"),
        (Budget(max_usd=1.0, prices=PRICES), spent(usd=0.99999), "--max-usd is 1"),
        (Budget(max_usd=0.0, prices=PRICES), Spent(), "--max-usd is 0"),
        (Budget(max_usd=1.0, prices=PRICES), spent(unpriced=1), "1 calls of this run have no known price"),
    ],
)
def test_a_call_that_would_pass_a_cap_is_refused(budget: Budget, so_far: Spent, words: str) -> None:
    with pytest.raises(BudgetExceeded, match=words):
        budget.check(so_far, model="m", input_tokens=100)


@pytest.mark.parametrize(
    ("budget", "so_far"),
    [
        (Budget(), spent(calls=10**6, tokens=10**9, usd=1e6, unpriced=7)),
        (Budget(max_calls=3), spent(calls=2)),
        (Budget(max_tokens=1000), spent(tokens=900)),
        (Budget(max_wall_s=1e6), Spent()),
        (Budget(max_usd=1.0, prices=PRICES), spent(usd=0.9998)),
    ],
)
def test_a_call_within_the_caps_is_let_through(budget: Budget, so_far: Spent) -> None:
    budget.check(so_far, model="m", input_tokens=100)


def test_a_cap_on_money_needs_a_price() -> None:
    with pytest.raises(BudgetExceeded, match=r"price of 'unheard-of' is not known.*CUDAMASTER_PRICES"):
        Budget(max_usd=5.0, prices=PRICES).check(Spent(), model="unheard-of", input_tokens=1)


@pytest.mark.parametrize("model", ["offline", "mailbox", "replay"])
def test_what_costs_nothing_fits_in_any_cap_on_money(model: str) -> None:
    Budget(max_usd=0.0, prices=PRICES).check(Spent(), model=model, input_tokens=10**6)
    assert PRICES.cost_usd(model, 10**6, 10**6) == 0.0


def test_the_builtin_table_is_dated_and_its_prices_are_plausible() -> None:
    table = load_prices()
    assert date.fromisoformat(table.date) < date(2030, 1, 1)
    for name, price in table.models.items():
        assert 0 < price.input <= price.output <= 1000, name
        assert price.cached_input is None or price.cached_input <= price.input, name


def test_costs_of_input_cache_and_output() -> None:
    assert PRICES.cost_usd("m", 1_000_000, 0) == pytest.approx(1.0)
    assert PRICES.cost_usd("m", 1_000_000, 100_000, cached_tokens=500_000) == pytest.approx(0.5 + 0.05 + 1.0)
    assert PRICES.cost_usd("other", 1, 1) is None
    without = Prices(date="2026-01-01", models={"m": Price(input=1.0, output=10.0)})
    assert without.cost_usd("m", 1_000_000, 0, cached_tokens=1_000_000) == pytest.approx(1.0)


def test_the_users_prices_come_over_the_built_in_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"models": {"gpt-4.1": {"input": 7, "output": 8}, "mine": {"input": 0, "output": 0}}}))
    builtin = load_prices()
    for table in (load_prices(file), (monkeypatch.setenv("CUDAMASTER_PRICES", str(file)), load_prices())[1]):
        assert table.models["gpt-4.1"] == Price(input=7, output=8)
        assert table.cost_usd("mine", 5, 5) == 0.0
        assert table.models["o3"] == builtin.models["o3"]
        assert table.date == builtin.date


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"models": {"m": {"input": -1, "output": 1}}}', '{"models": {"m": {"input": 1}}}', None]
)
def test_a_price_table_that_can_not_be_read(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "prices.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ModelConfigError, match=re.escape(str(file))) as caught:
        load_prices(file)
    assert "\n" not in str(caught.value)


def test_what_was_spent_is_told_by_agent_and_round_and_survives_the_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    costs = {"001.00.planner.0": 0.5, "001.00.coder.0": 1.0, "001.01.coder.1": None, "002.00.planner.0": 0.25}
    for step, cost in costs.items():
        journal.question(step, "p")
        journal.keep(
            step, Reply(text="t", input_tokens=10, output_tokens=5, cost_usd=cost, tokens_estimated=cost is None)
        )
    journal.question("002.00.coder.0", "asked, and not answered")

    read = Journal(tmp_path)
    assert read.spent() == Spent(
        calls=4, input_tokens=40, output_tokens=20, usd=1.75, unpriced_calls=1, estimated_calls=1
    )
    assert read.spent().tokens == 60
    assert {agent: total.calls for agent, total in read.spent_by_agent().items()} == {"planner": 2, "coder": 2}
    assert read.spent_by_agent()["planner"].usd == 0.75
    assert {number: total.calls for number, total in read.spent_by_round().items()} == {1: 3, 2: 1}


def test_the_first_reply_to_a_step_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(ValueError, match="never asked"):
        journal.keep("s", Reply(text="early"))
    journal.question("s", "p")
    assert journal.keep("s", Reply(text="first")).text == "first"
    assert journal.keep("s", Reply(text="second")).text == "first"
    assert journal.question("s", "changed") == "p"
