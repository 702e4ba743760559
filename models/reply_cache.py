"""LangChain's SQLite cache of replies, for runs that ask the same again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelConfigError

if TYPE_CHECKING:
    from langchain_core.caches import RETURN_VAL_TYPE, BaseCache


def sqlite_cache(file: Path) -> BaseCache:
    """Return langchain-community's SQLite cache in this file. What it can't read back counts as not there.

    Raises:
        ModelConfigError: the extra `community` is not installed.
    """
    from langchain_core.outputs import ChatGeneration

    try:
        with warnings.catch_warnings():
            # The package says at import that it is being retired; its cache is what is wanted.
            warnings.simplefilter("ignore")
            from langchain_community.cache import SQLiteCache
    except ImportError as error:
        raise ModelConfigError(
            f"--reply-cache sqlite needs langchain-community: pip install 'cudamaster[community]' ({error})"
        ) from None

    class ChatCache(SQLiteCache):  # type: ignore[misc]  # untyped package
        def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found: RETURN_VAL_TYPE | None = super().lookup(prompt, llm_string)
            # A row that it fails to read comes back as raw text in a plain Generation.
            whole = found is not None and all(isinstance(item, ChatGeneration) for item in found)
            return found if whole else None

    file.parent.mkdir(parents=True, exist_ok=True)
    cache: BaseCache = ChatCache(database_path=str(file))
    return cache
