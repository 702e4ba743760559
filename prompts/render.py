"""Turn a brief into the prompt of its agent: one Jinja template each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .brief import Attempt, Brief
from .contract import read_prototype
from .sections import TITLES, lines_and_fences, write_attempt, write_finding

if TYPE_CHECKING:
    from jinja2 import Environment

HISTORY_LINES = 24
"""Attempts told in full. Older ones that did not help are named only: a long history costs more than it teaches."""

ERROR_CHARACTERS = 6000
"""Of a log or of evidence: the head (the first error) and the tail (the summary) are kept."""


def render(brief: Brief) -> str:
    """Return the prompt: Markdown with the section titles of `sections`. The same brief gives the same bytes."""
    told, left_out = _told(brief.history)
    entry, _ = read_prototype(brief.contract)
    first_line, _, rest = brief.profile.partition("\n")
    bottleneck = first_line.removeprefix("Bottleneck:").strip() if first_line.startswith("Bottleneck:") else ""
    text = (
        _environment()
        .get_template(f"{brief.agent}.j2")
        .render(
            **TITLES,
            brief=brief,
            plan=brief.plan,
            bottleneck=bottleneck,
            # Findings say it all in the diagnosis view; other views are shown as they are.
            profile="" if brief.findings else (rest if bottleneck else brief.profile).strip("\n"),
            attempts=told,
            improvements=tuple(attempt for attempt in brief.history if attempt.best),
            left_out=left_out,
            entry=entry,
            workspace_entry=f"{entry}_workspace_bytes",
        )
    )
    lines: list[str] = []
    for line, in_fence in lines_and_fences(text):
        if line or in_fence or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip() + "\n"


def fenced(text: str, language: str = "") -> str:
    """Return text in a code fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def shortened(text: str, limit: int = ERROR_CHARACTERS) -> str:
    """Return text of at most about `limit` characters: head and tail, and a line that says what was left out."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-limit // 3 :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"


def _told(history: tuple[Attempt, ...]) -> tuple[tuple[Attempt, ...], tuple[str, ...]]:
    """Return the attempts to tell in full (improvements and the newest), and the names of the others' strategies."""
    newest = history[-HISTORY_LINES:]
    told = tuple(attempt for attempt in history if attempt.best or attempt in newest)
    return told, tuple(dict.fromkeys(attempt.strategy for attempt in history if attempt not in told))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown for a model, not HTML
    )
    environment.filters.update(fenced=fenced, shortened=shortened, finding=write_finding, attempt=write_attempt)
    return environment
