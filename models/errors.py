"""What may go wrong with a model: each message is one line that says what to do."""

from __future__ import annotations


class ModelError(RuntimeError):
    """A model could not answer. The run keeps its state and can be resumed."""


class ModelConfigError(ModelError):
    """The model's name or its settings can't be used: nothing was asked."""


class ModelAuthError(ModelError):
    """The endpoint refuses the key."""


class ModelUnknown(ModelError):
    """The endpoint has no such model, or no such path."""


class ModelRequestError(ModelError):
    """The endpoint refuses the request itself (a parameter, the content)."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model's context."""


class QuotaExhausted(ModelError):
    """The account has no balance or quota left: waiting doesn't help."""


class ModelUnavailable(ModelError):
    """The endpoint is down, too slow or over its rate, and all retries are used up."""


class ReplayMiss(ModelError):
    """The journal that is replayed holds no reply to this question."""
