"""The one layer of retries round a model call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from .errors import (
    ContextOverflow,
    ModelAuthError,
    ModelError,
    ModelRequestError,
    ModelUnavailable,
    ModelUnknown,
    QuotaExhausted,
)

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LOG: Final = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How long to wait for an endpoint that can't answer now."""

    attempts: int = 8
    total_s: float = 900.0
    """No retry begins after this."""
    first_wait_s: float = 1.0
    """Doubled at each retry, with jitter."""
    longest_wait_s: float = 60.0
    """Also caps what the endpoint asks for in Retry-After."""
    sleep: Callable[[float], None] = time.sleep


def with_patience(call: Callable[[], T], patience: Patience, pause: Callable[[float], None] | None = None) -> T:
    """Call, and call again where waiting helps: rate limits, timeouts, lost connections, server errors.

    `pause` is told how long a rate limit lasts, so that parallel runs wait as well.

    Raises:
        ModelError: waiting doesn't help, or did not. The message is one line.
    """
    import tenacity

    waits = tenacity.wait_exponential_jitter(
        initial=patience.first_wait_s, max=patience.longest_wait_s, jitter=patience.first_wait_s
    )

    def wait(state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        asked = _retry_after_s(fault)
        wait_s = min(asked if asked is not None else float(waits(state)), patience.longest_wait_s)
        if pause is not None and _status(fault) == 429:
            pause(wait_s)
        _LOG.warning("the model did not answer (%s): asked again in %.1f s", type(fault).__name__, wait_s)
        return wait_s

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_waiting_helps),
        wait=wait,
        stop=tenacity.stop_after_attempt(patience.attempts) | tenacity.stop_after_delay(patience.total_s),
        sleep=patience.sleep,
        reraise=True,
    )
    try:
        return retrying(call)
    except ModelError:
        raise
    except Exception as error:
        translated = translate(error)
        if translated is None:
            raise
        raise translated from error


def translate(error: Exception) -> ModelError | None:
    """Return one of our errors with one line for a provider's error; None for what is not a provider's."""
    from langchain_core.exceptions import (
        ContextOverflowError,
        ModelAPIError,
        ModelAuthenticationError,
        ModelConnectionError,
        ModelInvalidRequestError,
        ModelNotFoundError,
        ModelRateLimitError,
        ModelTimeoutError,
    )

    line = _line(error)
    if isinstance(error, ContextOverflowError) or (_status(error) in (400, 413) and _says(error, _CONTEXT)):
        return ContextOverflow(f"the prompt is longer than the model's context: {line}")
    if _is_quota(error):
        return QuotaExhausted(f"the account's quota or balance is used up, so waiting won't help: {line}")
    if isinstance(error, ModelAuthenticationError) or _status(error) in (401, 403):
        return ModelAuthError(f"the endpoint refuses the key (OPENAI_API_KEY, or the provider's own variable): {line}")
    if isinstance(error, ModelNotFoundError) or _status(error) == 404:
        return ModelUnknown(f"the endpoint has no such model or path (check the model's name and --base-url): {line}")
    if isinstance(
        error, (ModelRateLimitError, ModelTimeoutError, ModelConnectionError, ModelAPIError)
    ) or _waiting_helps(error):
        return ModelUnavailable(f"the endpoint did not answer, retries included; resume the run later: {line}")
    if isinstance(error, ModelInvalidRequestError) or _status(error) is not None:
        return ModelRequestError(f"the endpoint refuses the request: {line}")
    return None


_CONTEXT: Final = (
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "too many tokens",
    "prompt is too long",
)
_QUOTA: Final = (
    "insufficient_quota",
    "insufficient balance",
    "exceeded your current quota",
    "billing",
    "credit balance",
    "out of credits",
    "payment required",
)


def _waiting_helps(error: BaseException) -> bool:
    from langchain_core.exceptions import ModelAPIError, ModelConnectionError, ModelRateLimitError, ModelTimeoutError

    if _is_quota(error):
        return False
    if isinstance(error, (ModelRateLimitError, ModelTimeoutError, ModelConnectionError, ModelAPIError)):
        return True
    status = _status(error)
    if status is not None:
        return status in (408, 409, 429) or status >= 500
    # Without a status: a lost connection, or an error in the middle of a stream.
    return isinstance(error, (ConnectionError, TimeoutError)) or any(
        base.__name__ in ("TransportError", "APIError") for base in type(error).__mro__
    )


def _is_quota(error: BaseException) -> bool:
    return _status(error) == 402 or (_status(error) in (400, 403, 429) and _says(error, _QUOTA))


def _status(error: BaseException | None) -> int | None:
    for holder, name in ((error, "status_code"), (error, "code"), (getattr(error, "response", None), "status_code")):
        if isinstance(status := getattr(holder, name, None), int) and 400 <= status < 600:
            return status
    return None


def _says(error: BaseException, phrases: tuple[str, ...]) -> bool:
    text = f"{error} {getattr(error, 'body', '')}".lower()
    return any(phrase in text for phrase in phrases)


def _line(error: BaseException) -> str:
    """Return the provider's message as one line of at most 300 characters."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = " ".join(str(message or error or type(error).__name__).split())
    status = _status(error)
    return (f"HTTP {status}: " if status else "") + (text if len(text) <= 300 else text[:299] + "…")


def _retry_after_s(error: BaseException | None) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            value = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if value >= 0:
            return value
    return None
