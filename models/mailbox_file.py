"""Open questions as one file to carry away, and the answers that come back in it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

from ..prompts.render import fenced
from ..tools.records import Record
from .errors import ModelError
from .question import Answer, Question


class BadAnswerFile(ModelError):
    """The file holds no answers, or can't be read. The message says where."""


class Delivery(Record):
    """An answer as it came in, with the key of the question that it is for."""

    key: str
    answer: Answer


class Checked(Record):
    """What became of one answer: good ones go to the graph, each other one says what is wrong with it."""

    key: str
    status: Literal["good", "bad", "stale", "double", "unknown"]
    problem: str = ""
    answer: Answer | None = None


# --- out -------------------------------------------------------------------------------------------------------------


def questions_to_jsonl(questions: Iterable[Question]) -> str:
    """Return one JSON object a line: id, agent, unit, prompt, answer_format, and an empty `text` to fill in.

    A filled line is an answer; so is `{"id": …, "text": …}` with, if known, `model`, `input_tokens`, `output_tokens`.
    """
    rows = [
        {
            "id": q.key,
            "agent": q.agent,
            "unit": q.unit,
            "prompt": q.prompt,
            "answer_format": q.answer_format,
            "text": "",
        }
        for q in questions
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_HOW: Final = """\
# Questions of CUDAMaster

Answer each question between its two marks, in the form that its last section asks for; leave the marks as they are.
Who answers may add a name to the first mark: `<!-- answer KEY model="NAME" -->`.
"""


def questions_to_markdown(questions: Iterable[Question]) -> str:
    """Return a document for people: each question in a block, with two marks round the place for its answer."""
    parts = [_HOW]
    for q in questions:
        title = f"# {q.unit or q.run}: {q.agent}"
        parts += [f"{title}\n\n{fenced(q.prompt, 'markdown')}\n\n<!-- answer {q.key} -->\n\n<!-- end {q.key} -->\n"]
    return "\n".join(parts)


# --- in --------------------------------------------------------------------------------------------------------------


def read_answers(text: str) -> list[Delivery]:
    """Return the answers of a file in either form, in order. Questions that were left empty are passed over.

    Raises:
        BadAnswerFile: neither form, or a line that can't be read.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{"):
        return _read_jsonl(text)
    if "<!-- answer " in text:
        return _read_markdown(text)
    raise BadAnswerFile('no answers in it: expected lines of {"id": …, "text": …}, or the exported Markdown filled in')


def _read_jsonl(text: str) -> list[Delivery]:
    deliveries = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadAnswerFile(f"line {number} is not JSON ({error}): one object a line") from None
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise BadAnswerFile(f'line {number} has no "id": expected {{"id": …, "text": …}}')
        if row.get("text") in (None, ""):
            continue
        try:
            deliveries.append(Delivery(key=row["id"], answer=Answer.read(row)))
        except ModelError as error:
            raise BadAnswerFile(f"line {number}: {error}") from None
    return deliveries


_MARK: Final = re.compile(r"^<!-- answer (\S+)(?: model=\"([^\"]*)\")? -->\n(.*?)^<!-- end \1 -->", re.S | re.M)


def _read_markdown(text: str) -> list[Delivery]:
    text = text.replace("\r\n", "\n")
    opened = re.findall(r"^<!-- answer (\S+)", text, re.M)
    found = list(_MARK.finditer(text))
    if lost := [key for key in opened if key not in {mark[1] for mark in found}]:
        raise BadAnswerFile(f"the mark `<!-- end {lost[0]} -->` is missing, or was changed")
    filled = [(mark[1], mark[2], mark[3].strip()) for mark in found if mark[3].strip()]
    return [Delivery(key=key, answer=Answer(text=body, model=name or "mailbox")) for key, name, body in filled]


def check_answers(
    deliveries: Sequence[Delivery],
    questions: Iterable[Question],
    answered: Mapping[str, Collection[str]] | None = None,
) -> list[Checked]:
    """Return what each answer is good for, in order; a question takes at most one.

    Args:
        deliveries: the answers of a file.
        questions: all open questions of the home.
        answered: run id → ids of its questions that have a reply, to tell a stale answer from a wrong id.
    """
    still_open = {question.key: question for question in questions}
    taken: set[str] = set()
    checked = []
    for delivery in deliveries:
        key = delivery.key
        run, _, identity = key.rpartition("/")
        if key in taken:
            checked.append(Checked(key=key, status="double", problem="this file answers it above"))
        elif key not in still_open:
            if identity in (answered or {}).get(run, ()):
                checked.append(Checked(key=key, status="stale", problem="it has an answer already"))
            else:
                checked.append(Checked(key=key, status="unknown", problem="no open question has this id"))
        elif problem := still_open[key].complaint(delivery.answer):
            checked.append(Checked(key=key, status="bad", problem=problem))
        else:
            taken.add(key)
            checked.append(Checked(key=key, status="good", answer=delivery.answer))
    return checked
