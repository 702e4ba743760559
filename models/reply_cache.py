"""LangChain's SQLite cache of replies, for runs that ask the same again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelConfigError

if TYPE_CHECKING:
    from langchain_core.caches import BaseCache


def sqlite_cache(file: Path) -> BaseCache:
    """Return langchain-community's SQLite cache in this file.

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
    cache: BaseCache = SQLiteCache(database_path=str(file))
    return cache
