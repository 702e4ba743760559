"""The open questions of a home."""

from __future__ import annotations

from pathlib import Path

from ..models.question import Question
from .run import list_runs


def open_questions(home: Path | None = None) -> list[Question]:
    """Return what all runs of a home wait to be told, oldest run first. A run that is being advanced has none."""
    return [
        Question(run=summary.run, unit=summary.unit, id=item.id, agent=item.agent, prompt=item.prompt)
        for summary in list_runs(home)
        for item in summary.questions
        if item.kind == "question"
    ]
