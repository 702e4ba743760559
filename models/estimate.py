"""What a run would cost, before it is started."""

from __future__ import annotations

from typing import Final

from ..benchmark.contract import Precision
from ..benchmark.task import CaseSet, Task
from ..prompts.brief import AgentName, Attempt, Brief, Plan
from ..prompts.contract import contract_text, sizes_text
from ..prompts.hardware import hardware_text
from ..prompts.render import render
from ..prompts.tokens import estimate_tokens
from ..tools.device.gpu_model import gpu_model
from ..tools.records import Finding, Record
from .prices import Prices

_GROWTH: Final = 4
"""An optimised kernel has at most about four times the text of a naive one."""
_REASONING_TOKENS: Final = 8000
"""Of a reasoning model, per answer, at most about."""
_WORDS: Final[dict[AgentName, int]] = {"planner": 250, "coder": 50, "compiler": 40, "debugger": 100}
"""Output tokens of an answer beside the source file."""


class Span(Record):
    """The least and the most that is likely."""

    low: float
    high: float


class Estimate(Record):
    """Cost of one run: least without repairs and reasoning, most with every repair, long kernels and long reasoning."""

    calls: Span
    input_tokens: Span
    output_tokens: Span
    usd: Span | None
    """None: the model's price is not known."""


def estimate_run(
    task: Task, precision: Precision, *, rounds: int, repairs: int, model: str, prices: Prices, gpu: str = "NVIDIA H200"
) -> Estimate:
    """Estimate a run of a task from its own prompts.

    Args:
        model: the name as priced, without its provider.
    """
    low = _spent(task, precision, gpu, rounds, 0, task.source(precision), 0)
    high = _spent(task, precision, gpu, rounds, repairs, task.source(precision) * _GROWTH, _REASONING_TOKENS)
    costs = [prices.cost_usd(model, inputs, outputs) for _, inputs, outputs in (low, high)]
    usd = Span(low=costs[0], high=costs[1]) if costs[0] is not None and costs[1] is not None else None
    spans = [Span(low=least, high=most) for least, most in zip(low, high, strict=True)]
    return Estimate(calls=spans[0], input_tokens=spans[1], output_tokens=spans[2], usd=usd)


def _spent(
    task: Task, precision: Precision, gpu: str, rounds: int, repairs: int, source: str, reasoning: int
) -> tuple[int, int, int]:
    """Return calls, input tokens and output tokens of a run whose kernels all look like `source`."""
    calls = inputs = outputs = 0
    source_tokens = estimate_tokens(source)
    attempt = Attempt(round=1, attempt=0, strategy="a strategy", metric="a metric", status="pass", note="n" * 120)
    counts: dict[AgentName, int] = {"planner": 1, "coder": 1, "compiler": 1, "debugger": repairs}
    for number in range(1, rounds + 1):
        for agent, times in counts.items():
            brief = Brief(
                agent=agent,
                task_name=task.name,
                precision=precision,
                contract=contract_text(task.contract, precision),
                formula=task.formula,
                sizes=sizes_text(task.in_set(CaseSet.PAPER)),
                hardware=hardware_text(gpu_model(gpu)),
                source=source,
                findings=(Finding(name="a_finding", sentence="s" * 150, evidence="e" * 80, bound=2.0),) * 3,
                history=(attempt,) * ((number - 1) * (1 + repairs)),
                plan=Plan(strategy="a strategy", reasoning="r" * 600),
                candidate=source,
                error="e" * 1500,
                round=number,
                rounds=rounds,
            )
            written = source_tokens if agent in ("coder", "debugger") else 0
            calls += times
            inputs += times * estimate_tokens(render(brief))
            outputs += times * (_WORDS[agent] + written + reasoning)
    return calls, inputs, outputs
