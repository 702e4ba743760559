"""One question to one agent's model: asked within the budget, read once, asked once more if it cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..models.ask import ask
from ..models.budget import BudgetExceeded
from ..models.parse import Unreadable, check_finished
from ..prompts.render import render
from .brief import brief
from .context import Context
from .state import Agent, State, Word

T = TypeVar("T")


def ask_agent(agent: Agent, state: State, context: Context, read: Callable[[str], T]) -> tuple[T | None, State]:
    """Ask, and return what `read` made of the answer with the update to send; None where the update routes elsewhere.

    Nothing is done before the question but reading, so a node may run again up to here at no cost.
    """
    asks = state.get("asks", 0)
    step = f"{state['round']:03d}.{state['attempt']:02d}.{agent}.{asks}"
    prompt = render(brief(agent, state, context))
    try:
        reply = ask(context.chat_model(agent), prompt, step=step, journal=context.journal, budget=context.budget)
    except BudgetExceeded as error:
        return None, {"route": "finisher", "stop": str(error), "status": "stopped_budget", "resume_at": agent}
    spent = state.get("tokens", {})
    tokens = {
        "input": spent.get("input", 0) + reply.input_tokens,
        "output": spent.get("output", 0) + reply.output_tokens,
    }
    try:
        value = read(check_finished(reply))
    except Unreadable as fault:
        if asks == 0:
            return None, {"tokens": tokens, "asks": 1, "complaint": str(fault), "route": agent}
        word = Word(status="unreadable", summary=f"the {agent}'s answer could not be used: {fault}")
        return None, {
            "tokens": tokens,
            "asks": 0,
            "complaint": "",
            "word": word.model_dump(mode="json"),
            "route": "recorder",
        }
    return value, {"tokens": tokens, "asks": 0, "complaint": ""}
