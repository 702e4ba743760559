"""Parameters that rules leave in a source for a search: marked constants, one other value a round."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .emit import helper_name
from .syntax import Source

_LINE = re.compile(r"^constexpr int (\w+) = \d+;  // tune: ([\d ]+)$", re.M)
_STRATEGY = re.compile(r"tune (\w+)=(\d+)")


def tunable(source: Source, wanted: str, choices: Sequence[int]) -> tuple[str, str]:
    """Return the name and the line of a constant that a search may change. The first choice is the value now."""
    line = f"constexpr int {{name}} = {choices[0]};  // tune: {' '.join(map(str, choices))}\n"
    return helper_name(source, wanted, line), line


def tunings(source: str) -> list[str]:
    """Return the strategies `tune name=value` that a source has room for: every choice but the first."""
    return [f"tune {m[1]}={value}" for m in _LINE.finditer(source) for value in m[2].split()[1:]]


def tuned(source: str, strategy: str) -> str | None:
    """Return a source with one constant changed; None if the strategy is no such change, or changes nothing."""
    asked = _STRATEGY.fullmatch(strategy)
    if asked is None or strategy not in tunings(source):
        return None
    changed = re.sub(rf"^(constexpr int {asked[1]} = )\d+(?=;  // tune:)", rf"\g<1>{asked[2]}", source, flags=re.M)
    return changed if changed != source else None
