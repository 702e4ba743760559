"""Chat models behind any endpoint that speaks OpenAI's chat-completions protocol."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

from langchain_core.exceptions import ModelAPIError
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.rate_limiters import BaseRateLimiter
from langchain_openai import ChatOpenAI

from .capabilities import capabilities
from .errors import ModelConfigError

_log = logging.getLogger(__name__)


class EndpointFault(ModelAPIError):
    """A response with status 200 that holds an error, or no answer."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class CompatibleChat(ChatOpenAI):
    """ChatOpenAI for compatible servers: keeps reasoning that has a field of its own, sends the right token limit."""

    token_limit: str = "max_tokens"
    """What the endpoint calls the cap on output tokens."""

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **kwargs)
        for name in ("max_tokens", "max_completion_tokens"):
            if name in payload and name != self.token_limit:
                payload[self.token_limit] = payload.pop(name)
        return payload

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        data = response.model_dump() if hasattr(response, "model_dump") else response
        if not isinstance(data, dict):
            raise EndpointFault(f"not a completion: {str(data)[:120]!r}")
        if error := data.get("error"):
            raise EndpointFault(*_error(error))
        choices = data.get("choices")
        if not choices or not isinstance(choices[0].get("message"), dict):
            raise EndpointFault("a completion without an answer")
        result = super()._create_chat_result(response, generation_info)
        for generation, choice in zip(result.generations, choices, strict=True):
            if reasoning := _reasoning(choice["message"]):
                generation.message.additional_kwargs["reasoning_content"] = reasoning
        return result

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        ended = False
        for chunk in super()._stream(*args, **kwargs):
            ended = ended or bool((chunk.generation_info or {}).get("finish_reason"))
            yield chunk
        if not ended:
            raise EndpointFault("the stream broke off before the answer's end")

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices") or []
        if generation is not None and choices and (reasoning := _reasoning(choices[0].get("delta") or {})):
            generation.message.additional_kwargs["reasoning_content"] = reasoning
        return generation


def _reasoning(message: dict[str, Any]) -> str:
    """Return the reasoning of a message or delta, under either name that servers use."""
    text = message.get("reasoning_content") or message.get("reasoning")
    return text if isinstance(text, str) else ""


def _error(error: object) -> tuple[str, int | None]:
    """Return message and status of an error object in a response of status 200."""
    if not isinstance(error, dict):
        return str(error), None
    code = error.get("code")
    return str(error.get("message") or error), code if isinstance(code, int) else None


def openai_chat(
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    timeout_s: float = 600.0,
    rate_limiter: BaseRateLimiter | None = None,
    cache: Any = None,
) -> CompatibleChat:
    """Return a model of an OpenAI-compatible endpoint. Key and base URL come from the environment where not given.

    A setting that the model does not take is dropped, and the log says so.

    Raises:
        ModelConfigError: there is no key, or a setting can't be used.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or None
    key = os.environ.get("OPENAI_API_KEY")
    if url and not url.startswith(("http://", "https://")):
        raise ModelConfigError(f"base URL {url!r} does not begin with http:// or https://")
    if not key and not url:
        raise ModelConfigError(f"openai:{name} needs a key: set OPENAI_API_KEY, or --base-url for a server without")
    able = capabilities(name, url)
    if temperature is not None and not able.temperature:
        _log.warning("%s takes no temperature: %g dropped", name, temperature)
        temperature = None
    if reasoning_effort is not None and reasoning_effort not in able.reasoning_effort:
        takes = ", ".join(able.reasoning_effort) or "none"
        _log.warning("%s does not take reasoning effort %r (it takes: %s): dropped", name, reasoning_effort, takes)
        reasoning_effort = None
    return CompatibleChat(
        model=name,
        base_url=url,
        # A server without keys ignores it, but the client wants one.
        api_key=key or "none",
        timeout=timeout_s,
        max_retries=0,
        temperature=temperature,
        max_completion_tokens=max_output_tokens,
        reasoning_effort=reasoning_effort,
        token_limit=able.token_limit,
        streaming=able.stream,
        stream_usage=able.stream_usage,
        use_responses_api=False,
        rate_limiter=rate_limiter,
        cache=cache,
    )
