"""The model that waits for answers from outside: a person, or any agent, on any machine."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ..prompts.tokens import estimate_tokens
from .ask import read_message
from .budget import Budget
from .journal import Journal
from .question import Answer, question_id
from .reply import Reply

__all__ = ["Answer", "MailboxChat", "deliver"]


class MailboxChat(BaseChatModel):
    """Every call pauses the graph with its question; what the graph is resumed with is the answer.

    One call per node: a second interrupt in a node could be given the first one's answer.
    """

    model: str = "mailbox"

    @property
    def _llm_type(self) -> str:
        return "mailbox"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        from langgraph.types import interrupt

        told = (run_manager.metadata if run_manager else None) or {}
        step, agent = str(told.get("step", "")), str(told.get("agent", ""))
        prompt = "\n\n".join(message.text for message in messages)
        question = {"kind": "question", "id": question_id(step, prompt), "step": step, "agent": agent, "prompt": prompt}
        message = _message(Answer.read(interrupt(question)), prompt)
        return ChatResult(generations=[ChatGeneration(message=message)])


def deliver(answer: Answer, *, step: str, journal: Journal, budget: Budget) -> Reply:
    """Keep an answer as the reply to a step's open question: from here on the graph needs nobody to go on.

    The journal is the one place that says whether a question is answered, so a process may die before or after this,
    and the answer is used once all the same.
    """
    prompt = journal.prompt(step) or ""
    return journal.keep(step, read_message(_message(answer, prompt), prompt, "mailbox", budget, 0.0))


def _message(answer: Answer, prompt: str) -> AIMessage:
    """Return an answer as a model's message; tokens that were not told are estimated, and marked."""
    input_tokens = estimate_tokens(prompt) if answer.input_tokens is None else answer.input_tokens
    output_tokens = estimate_tokens(answer.text) if answer.output_tokens is None else answer.output_tokens
    return AIMessage(
        answer.text,
        usage_metadata={
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        },
        response_metadata={
            "finish_reason": "stop",
            "model_name": answer.model,
            "tokens_estimated": answer.input_tokens is None or answer.output_tokens is None,
        },
    )
