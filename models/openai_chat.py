"""Chat models behind any endpoint that speaks OpenAI's chat-completions protocol."""

from __future__ import annotations

import os
from typing import Any

from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI

from .errors import ModelConfigError


class CompatibleChat(ChatOpenAI):
    """ChatOpenAI for compatible servers: keeps the reasoning that comes in a field of its own."""

    token_limit_field: str = "max_completion_tokens"
    """What the endpoint calls the cap on output tokens."""

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        data = response if isinstance(response, dict) else response.model_dump()
        for generation, choice in zip(result.generations, data.get("choices") or [], strict=False):
            told = choice.get("message") or {}
            if reasoning := told.get("reasoning_content") or told.get("reasoning"):
                generation.message.additional_kwargs["reasoning_content"] = reasoning
        return result

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        payload = super()._get_request_payload(input_, stop=stop, **kwargs)
        for field in ("max_completion_tokens", "max_tokens"):
            if field in payload and field != self.token_limit_field:
                payload[self.token_limit_field] = payload.pop(field)
        return payload


def openai_chat(
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    timeout_s: float = 600.0,
) -> CompatibleChat:
    """Return a model of an OpenAI-compatible endpoint; key and base URL come from the environment if not given.

    Raises:
        ModelConfigError: there is no key.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or None
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not url:
        raise ModelConfigError(
            f"openai:{name} needs a key: set OPENAI_API_KEY, or --base-url for a server that wants none"
        )
    return CompatibleChat(
        model=name,
        base_url=url,
        api_key=key or "none",
        timeout=timeout_s,
        max_retries=0,
        stream_usage=True,
        temperature=temperature,
        max_completion_tokens=max_output_tokens,
        reasoning_effort=reasoning_effort,
    )
