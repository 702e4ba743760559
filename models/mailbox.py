"""Questions that wait for a person or for any agent: the mailbox model, its export and its import."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, ValidationError

from ..prompts.tokens import estimate_tokens
from ..tools.records import Record
from .errors import ModelError
from .journal import request_sha256


class Answer(Record):
    """What comes back for a question."""

    text: str
    model: str = "mailbox"
    """Who answered, if they said."""
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)

    @classmethod
    def read(cls, value: object) -> Answer:
        """Return an answer from the value that a paused graph was resumed with: the text alone, or these fields.

        Raises:
            ModelError: it is neither.
        """
        try:
            return cls(text=value) if isinstance(value, str) else cls.model_validate(value)
        except ValidationError as error:
            raise ModelError(
                f"not an answer: expected a text, or an object with `text` ({error.error_count()} faults)"
            ) from None


def question_id(step: str, prompt: str) -> str:
    """Return a question's id within its run: the same whenever and wherever it is computed."""
    return request_sha256(f"{step}\0{prompt}")[:16]


class MailboxChat(BaseChatModel):
    """Every call pauses the graph with its question; what the graph is resumed with is the answer.

    One call per node: a second interrupt in a node could be given the first one's answer.
    """

    model: str = "mailbox"

    @property
    def _llm_type(self) -> str:
        return "mailbox"

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
        answer = Answer.read(interrupt(question))
        estimated = answer.input_tokens is None or answer.output_tokens is None
        input_tokens = estimate_tokens(prompt) if answer.input_tokens is None else answer.input_tokens
        output_tokens = estimate_tokens(answer.text) if answer.output_tokens is None else answer.output_tokens
        message = AIMessage(
            answer.text,
            usage_metadata={
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
            response_metadata={"finish_reason": "stop", "model_name": answer.model, "tokens_estimated": estimated},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])
