"""LangChain's other providers, each used when its package is installed."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .errors import ModelConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class Provider(NamedTuple):
    """Where a provider's chat model is, and what its constructor calls our settings."""

    package: str
    module: str
    name: str
    retries: str | None = "max_retries"
    timeout: str | None = "timeout"
    max_output_tokens: str = "max_tokens"
    base_url: str = "base_url"
    no_retries: int = 0
    """The value of `retries` that means one try."""
    keys: tuple[str, ...] = ()
    """Variables of the environment, one of which must hold the key."""


PROVIDERS: Final = {
    "anthropic": Provider(
        "langchain-anthropic",
        "langchain_anthropic",
        "ChatAnthropic",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    ),
    "google": Provider(
        "langchain-google-genai",
        "langchain_google_genai",
        "ChatGoogleGenerativeAI",
        max_output_tokens="max_output_tokens",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        no_retries=1,  # counts tries, and takes 0 for its default
    ),
    "mistral": Provider("langchain-mistralai", "langchain_mistralai", "ChatMistralAI", keys=("MISTRAL_API_KEY",)),
    "groq": Provider("langchain-groq", "langchain_groq", "ChatGroq", keys=("GROQ_API_KEY",)),
    "ollama": Provider(
        "langchain-ollama",
        "langchain_ollama",
        "ChatOllama",
        retries=None,
        timeout=None,
        max_output_tokens="num_predict",
    ),
}


def provider_chat(
    provider: str,
    name: str,
    *,
    base_url: str | None = None,
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    timeout_s: float = 600.0,
    **common: Any,
) -> BaseChatModel:
    """Return a chat model of a provider's own LangChain package, with that package's retries off.

    Raises:
        ModelConfigError: no such provider, its package is not installed, or it refuses the settings (a missing key).
    """
    known = PROVIDERS.get(provider)
    if known is None:
        raise ModelConfigError(f"no provider {provider!r}: openai, {', '.join(PROVIDERS)}")
    try:
        chat = getattr(importlib.import_module(known.module), known.name)
    except ImportError as error:
        raise ModelConfigError(
            f"{provider}:{name} needs {known.package}: pip install {known.package} ({error})"
        ) from None
    if known.keys and not any(os.environ.get(key) for key in known.keys):
        raise ModelConfigError(f"{provider}:{name} needs a key: set {' or '.join(known.keys)}")
    settings: dict[str, Any] = {"model": name, **{k: v for k, v in common.items() if v is not None}}
    if known.retries:
        settings[known.retries] = known.no_retries
    if known.timeout:
        settings[known.timeout] = timeout_s
    if temperature is not None:
        settings["temperature"] = temperature
    if max_output_tokens is not None:
        settings[known.max_output_tokens] = max_output_tokens
    if base_url:
        settings[known.base_url] = base_url
    try:
        model: BaseChatModel = chat(**settings)
    except Exception as error:  # each package has errors of its own for a missing key or a bad setting
        raise ModelConfigError(f"{provider}:{name}: {' '.join(str(error).split())[:300]}") from error
    return model
