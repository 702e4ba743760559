"""From a model's name to a chat model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ModelConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

FORMS = "`offline`, `mailbox`, `replay:<journal folder>`, `openai:<name>`, or another provider's `<provider>:<name>`"


def chat_model(
    spec: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    timeout_s: float = 600.0,
    requests_per_minute: float | None = None,
    reply_cache: str | None = None,
    home: Path | None = None,
) -> BaseChatModel:
    """Return the model that a spec names. Building it asks nothing.

    Settings that a model does not take are dropped, and the log says so.

    Args:
        spec: `offline`, `mailbox`, `replay:<journal folder>`, `openai:<name>`, `<provider>:<name>`.
        base_url: of the endpoint; else `$OPENAI_BASE_URL` or `$OPENAI_API_BASE` for `openai`.
        temperature: None: the endpoint's default.
        max_output_tokens: cap on the answer; None: the endpoint's default.
        reasoning_effort: for models that take it.
        timeout_s: longest silence of the endpoint, in seconds.
        requests_per_minute: shared by all runs of the home; else `$CUDAMASTER_REQUESTS_PER_MINUTE`; None: no limit.
        reply_cache: `sqlite`, or None.
        home: where limiter and cache keep their files; None: `$CUDAMASTER_HOME`, else `.cudamaster`.

    Raises:
        ModelConfigError: one line that says what is missing.
    """
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if spec.strip() == "offline":
        from .offline import OfflineChat

        return OfflineChat()
    if spec.strip() == "mailbox":
        from .mailbox import MailboxChat

        return MailboxChat()
    if not colon or not provider or not name:
        raise ModelConfigError(f"model {spec!r}: expected {FORMS}")
    if provider == "replay":
        return _replay(name)
    if provider == "python":
        raise ModelConfigError(f"the run's model was an object of a program ({name}): give it to `resume` again")
    where = home or Path(os.environ.get("CUDAMASTER_HOME") or ".cudamaster")
    common: dict[str, Any] = {
        "base_url": base_url,
        "temperature": temperature,
        "max_output_tokens": max_output_tokens,
        "timeout_s": timeout_s,
        "rate_limiter": _limiter(where, base_url or provider, requests_per_minute),
        "cache": _cache(where, reply_cache),
    }
    if provider == "openai":
        from .openai_chat import openai_chat

        return openai_chat(name, reasoning_effort=reasoning_effort, **common)
    from .providers import provider_chat

    return provider_chat(provider, name, **common)


def _replay(folder: str) -> BaseChatModel:
    from .journal import Journal
    from .replay import ReplayChat

    journal = Journal(Path(folder))
    if not journal.steps():
        raise ModelConfigError(f"replay:{folder}: no journal with questions there (it is runs/<id>/journal in a home)")
    return ReplayChat(journal=journal)


def _limiter(home: Path, endpoint: str, requests_per_minute: float | None) -> Any:
    told = os.environ.get("CUDAMASTER_REQUESTS_PER_MINUTE") if requests_per_minute is None else requests_per_minute
    if not told:
        return None
    from .limiter import SharedLimiter, limiter_file

    try:
        return SharedLimiter(limiter_file(home, endpoint), float(told))
    except ValueError as error:
        raise ModelConfigError(f"requests per minute {told!r}: {error}") from None


def _cache(home: Path, kind: str | None) -> Any:
    if kind is None:
        return None
    if kind != "sqlite":
        raise ModelConfigError(f"reply cache {kind!r}: only `sqlite`")
    from .reply_cache import sqlite_cache

    return sqlite_cache(home / "reply-cache.sqlite")
