"""The model that waits for answers from outside: a person, or any agent, on any machine."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ..prompts.tokens import estimate_tokens
from .question import Answer, question_id

__all__ = ["Answer", "MailboxChat"]


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
        return _result(Answer.read(interrupt(question)), prompt)


def _result(answer: Answer, prompt: str) -> ChatResult:
    """Return an answer as a chat result; tokens that were not told are estimated, and marked."""
    input_tokens = estimate_tokens(prompt) if answer.input_tokens is None else answer.input_tokens
    output_tokens = estimate_tokens(answer.text) if answer.output_tokens is None else answer.output_tokens
    message = AIMessage(
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
    return ChatResult(generations=[ChatGeneration(message=message)])
