"""The one way in which a node asks a model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from ..prompts.tokens import estimate_tokens
from .budget import Budget
from .journal import Journal
from .reply import Reply, agent_of
from .retry import Patience, with_patience

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

__all__ = ["Reply", "ask"]


def ask(
    model: BaseChatModel,
    prompt: str,
    *,
    step: str,
    journal: Journal,
    budget: Budget,
    patience: Patience | None = None,
) -> Reply:
    """Return the model's reply to a step's question, asked at most once.

    The prompt is on disk before it is asked, and the reply before it is returned. A step that has a reply is not asked;
    a step that was asked without one is asked again with the prompt it was asked with.

    Raises:
        BudgetExceeded: the call would pass a cap. Nothing was asked.
        ModelError: the model can't answer; one line says why.
        GraphInterrupt: the mailbox model waits for an answer.
    """
    prompt = journal.question(step, prompt)
    if (kept := journal.reply(step)) is not None:
        return kept
    name = model_name(model)
    budget.check(journal.spent(), model=name, input_tokens=estimate_tokens(prompt))
    agent = agent_of(step)
    config: Any = {"run_name": f"{agent} model" if agent else "model", "metadata": {"step": step, "agent": agent}}
    started = time.monotonic()
    pause = getattr(getattr(model, "rate_limiter", None), "pause", None)
    message = with_patience(lambda: _invoke(model, prompt, config), patience or Patience(), pause)
    seconds = 0.0 if name == "mailbox" else round(time.monotonic() - started, 3)
    return journal.keep(step, read_message(message, prompt, name, budget, seconds))


def _invoke(model: BaseChatModel, prompt: str, config: Any) -> AIMessage:
    from langchain_core.messages import HumanMessage

    return model.invoke([HumanMessage(prompt)], config=config)


def model_name(model: BaseChatModel) -> str:
    """Return the name by which a model is priced: what was asked for, without its provider."""
    name = str(getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type)
    return name.removeprefix("models/")  # Google's client puts that before


_FINISH: Final = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "incomplete": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
}
"""Providers' words for how an answer ended → ours."""


def read_message(message: AIMessage, prompt: str, asked: str, budget: Budget, seconds: float) -> Reply:
    """Return a message as a reply: text without reasoning, how it ended, tokens (estimated where not told)."""
    told = message.response_metadata or {}
    finish = str(told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason") or "").lower()
    text, reasoning = message.text, _reasoning(message)
    usage = message.usage_metadata
    # Some servers send zeros where they don't count.
    counted = usage is not None and usage["input_tokens"] > 0
    input_tokens = usage["input_tokens"] if usage and counted else estimate_tokens(prompt)
    output_tokens = usage["output_tokens"] if usage and counted else estimate_tokens(text + reasoning)
    cached = int((usage.get("input_token_details") or {}).get("cache_read") or 0) if usage else 0
    name = str(told.get("model_name") or told.get("model") or asked)
    cost = budget.prices.cost_usd(asked, input_tokens, output_tokens, cached)
    if usage and usage.get("total_cost") == 0:  # LangChain's reply cache says so of what it had already
        cost = 0.0
    return Reply(
        text=text,
        finish_reason=_FINISH.get(finish, finish),
        model=name,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached,
        cost_usd=budget.prices.cost_usd(name, input_tokens, output_tokens, cached) if cost is None else cost,
        tokens_estimated=bool(told.get("tokens_estimated", not counted)),
        reasoning=reasoning,
        seconds=seconds,
    )


def _reasoning(message: AIMessage) -> str:
    """Return what a provider sent as reasoning beside the answer."""
    extra = message.additional_kwargs or {}
    if isinstance(field := extra.get("reasoning_content") or extra.get("reasoning"), str):
        return field
    if isinstance(message.content, str):
        return ""
    parts = [b.get("thinking") or b.get("reasoning") or "" for b in message.content if isinstance(b, dict)]
    return "\n".join(part for part in parts if isinstance(part, str) and part)
