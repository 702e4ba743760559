"""Parameters that rules leave in a source for a search."""

from __future__ import annotations

from collections.abc import Sequence

from ...tools.tunables import marked
from .emit import helper_name
from .syntax import Source


def tunable(source: Source, wanted: str, choices: Sequence[int]) -> tuple[str, str]:
    """Return the name and the line of a constant that a search may change. The first choice is the value now."""
    line = marked("{name}", choices)
    return helper_name(source, wanted, line), line
