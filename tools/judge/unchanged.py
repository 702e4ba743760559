"""Gate 2: is the candidate the baseline again, but for comments and white space?"""

from __future__ import annotations

from .code import tokens


def unchanged(source: str, baseline_source: str) -> bool:
    """Return True if both sources have the same tokens."""
    return tokens(source) == tokens(baseline_source)
