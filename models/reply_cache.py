"""LangChain's SQLite cache of replies, for runs that ask the same again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.outputs import ChatGeneration

from .errors import ModelConfigError


def sqlite_cache(file: Path) -> BaseCache:
    """Return langchain-community's SQLite cache in this file. What it can't read back counts as not there.

    Raises:
        ModelConfigError: the extra `community` is not installed.
    """
    try:
        with warnings.catch_warnings():
            # The package says at import that it is being retired; its cache is what is wanted.
            warnings.simplefilter("ignore")
            from langchain_community.cache import SQLiteCache
    except ImportError as error:
        raise ModelConfigError(
            f"--reply-cache sqlite needs langchain-community: pip install 'cudamaster[community]' ({error})"
        ) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    return _WholeReplies(SQLiteCache(database_path=str(file)))


class _WholeReplies(BaseCache):
    """Passes on only what a cache could read back whole, and none of its warnings."""

    def __init__(self, inner: BaseCache) -> None:
        self._inner = inner

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._inner.lookup(prompt, llm_string)
        # A row that can't be read comes back as raw text in a plain Generation.
        return found if found and all(isinstance(item, ChatGeneration) for item in found) else None

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        self._inner.update(prompt, llm_string, return_val)

    def clear(self, **kwargs: Any) -> None:
        self._inner.clear(**kwargs)
