"""A question that waits for its answer outside, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from ..prompts.brief import AgentName
from ..prompts.contract import read_prototype
from ..prompts.sections import ANSWER_FORMAT, CONTRACT, read_code, read_sections
from ..tools.records import Record
from .errors import ModelError
from .journal import Journal, request_sha256
from .parse import Unreadable, check_finished, parse_answer
from .reply import Reply


class Answer(Record):
    """What comes back for a question."""

    text: str
    model: str = "mailbox"
    """Who answered, if they said."""
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)

    @classmethod
    def read(cls, value: object) -> Answer:
        """Return an answer from what a paused graph is resumed with: the text alone, or an object of these fields.

        Raises:
            ModelError: it is neither.
        """
        try:
            return cls(text=value) if isinstance(value, str) else cls.model_validate(value)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise ModelError(f"not an answer, expected a text or an object with `text`: {faults}"[:400]) from None


def question_id(step: str, prompt: str) -> str:
    """Return a question's id within its run: the same whenever and wherever it is computed."""
    return request_sha256(f"{step}\0{prompt}")[:16]


class Question(Record):
    """An open question of one run."""

    run: str
    """Id of the run."""
    id: str
    """Id within the run, as the paused graph tells it."""
    agent: AgentName
    unit: str = ""
    """E.g. `dot_product-fp32`."""
    prompt: str

    @classmethod
    def of_interrupt(cls, run: str, unit: str, value: Mapping[str, Any]) -> Question:
        """Return the question that a run is paused at, from the value of its interrupt."""
        return cls(run=run, unit=unit, id=value["id"], agent=value["agent"], prompt=value["prompt"])

    @property
    def key(self) -> str:
        """Id over all runs of a home: `<run>/<id>`."""
        return f"{self.run}/{self.id}"

    @property
    def answer_format(self) -> str:
        """What an answer must look like, in the prompt's own words."""
        return read_sections(self.prompt).get(ANSWER_FORMAT, "").strip()

    def complaint(self, answer: Answer) -> str:
        """Return what is wrong with an answer, by the parser that its agent reads it with; empty if nothing is."""
        entry, prototype = read_prototype(read_code(read_sections(self.prompt).get(CONTRACT, "")))
        try:
            parse_answer(self.agent, check_finished(Reply(text=answer.text)), entry, prototype)
        except Unreadable as error:
            return error.complaint
        return ""


def answered_ids(journal: Journal) -> frozenset[str]:
    """Return the ids of the questions of a run that have a reply already."""
    steps = [step for step in journal.steps() if journal.reply(step) is not None]
    return frozenset(question_id(step, journal.prompt(step) or "") for step in steps)
