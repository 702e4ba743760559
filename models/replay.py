"""A model that answers from a run's journal, with no network."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict

from .errors import ReplayMiss
from .journal import Journal


class ReplayChat(BaseChatModel):
    """Answers a question with the reply that the journal holds for it.

    The same prompt is looked for first, in the same step and then in any; else the step's own reply is given, since
    measured figures in a prompt differ from run to run. `strict` asks for the same prompt.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: str = "replay"
    journal: Journal
    strict: bool = False

    @property
    def _llm_type(self) -> str:
        return "replay"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "journal": str(self.journal.folder)}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        step = str(((run_manager.metadata if run_manager else None) or {}).get("step", ""))
        reply = self.journal.find(step, "\n\n".join(message.text for message in messages), same_prompt=self.strict)
        if reply is None:
            raise ReplayMiss(
                f"{self.journal.folder} holds no reply to step {step or '(unnamed)'}: the runs went different ways"
            )
        message = AIMessage(
            reply.text,
            additional_kwargs={"reasoning_content": reply.reasoning} if reply.reasoning else {},
            usage_metadata={
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "total_tokens": reply.input_tokens + reply.output_tokens,
            },
            response_metadata={
                "finish_reason": reply.finish_reason,
                "model_name": reply.model,
                "tokens_estimated": reply.tokens_estimated,
            },
        )
        return ChatResult(generations=[ChatGeneration(message=message)])
