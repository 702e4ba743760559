"""What runs would cost, before any is started."""

from __future__ import annotations

from collections.abc import Sequence

from ..benchmark.contract import Precision
from ..benchmark.registry import choose_units, load_task
from ..models.estimate import Estimate, Span, estimate_run
from ..models.prices import load_prices
from ..tools.records import Record


class UnitEstimate(Record):
    """The cost of one unit's run."""

    unit: str
    cost: Estimate


class SuiteEstimate(Record):
    """The cost of some units, each and together."""

    model: str
    prices_of: str
    """Date of the price table."""
    units: tuple[UnitEstimate, ...]
    total: Estimate


def estimate(
    tasks: Sequence[str], precisions: Sequence[Precision], *, model: str, rounds: int, repairs: int
) -> SuiteEstimate:
    """Estimate the runs of some tasks (without any, of the whole benchmark) from their own prompts.

    Args:
        precisions: without any, those that each task has a kernel in.
        model: as `--model` takes it.

    Raises:
        UnknownTask: no such task. NoBaseline: it has no kernel in one of the precisions.
        ModelConfigError: your price table can't be read.
    """
    prices = load_prices()
    name = model.partition(":")[2] or model
    units = []
    for unit in choose_units(tasks, precisions):
        task = load_task(unit.task)
        cost = estimate_run(task, unit.precision, rounds=rounds, repairs=repairs, model=name, prices=prices)
        units.append(UnitEstimate(unit=unit.name, cost=cost))
    return SuiteEstimate(
        model=model, prices_of=prices.date, units=tuple(units), total=_total([unit.cost for unit in units])
    )


def _total(costs: Sequence[Estimate]) -> Estimate:
    def add(spans: Sequence[Span]) -> Span:
        return Span(low=sum(s.low for s in spans), high=sum(s.high for s in spans))

    priced = [cost.usd for cost in costs if cost.usd is not None]
    return Estimate(
        calls=add([cost.calls for cost in costs]),
        input_tokens=add([cost.input_tokens for cost in costs]),
        output_tokens=add([cost.output_tokens for cost in costs]),
        usd=add(priced) if len(priced) == len(costs) else None,
    )
