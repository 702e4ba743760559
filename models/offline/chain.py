"""All rules one after the other, with no judge in between: what a long run could reach at best."""

from __future__ import annotations

from .catalog import RULES
from .emit import tidy
from .rule import Setting
from .syntax import Source


def apply_all(source: str, setting: Setting, passes: int = 2) -> tuple[str, tuple[str, ...]]:
    """Return the source after every rule that applies, in their order, and the rules' names."""
    done: list[str] = []
    for _ in range(passes):
        for rule in RULES:
            changed = rule.changes(Source(source), setting)
            if changed is not None:
                source, done = tidy(changed), [*done, rule.name]
    return source, tuple(done)
