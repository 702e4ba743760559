"""Take in a file of answers: check each, and let the runs go on that got a good one."""

from __future__ import annotations

from pathlib import Path

from ..models.journal import Journal
from ..models.mailbox_file import check_answers, read_answers
from ..models.question import answered_ids
from ..tools.records import Record
from .advance import Advanced, OnRun, Order, advance
from .errors import RunError
from .manifest import run_folder
from .questions import open_questions


class Imported(Record):
    """What became of one answer."""

    id: str
    """`<run>/<question>`."""
    status: str
    """`good`, `bad`, `stale`, `double` or `unknown`."""
    problem: str = ""
    """What was wrong with it, or with its run."""
    run_status: str = ""
    """How far its run came; empty if the answer was not used."""


def import_answers(
    text: str, *, home: Path | None = None, jobs: int | None = None, on_run: OnRun | None = None
) -> list[Imported]:
    """Check the answers of an exported file and advance the runs of the good ones, several at a time.

    The outcomes are in the order of the file. An answer that is not good changes nothing: its question stays open.

    Raises:
        BadAnswerFile: the file holds no answers, or can't be read.
    """
    deliveries = read_answers(text)
    answered = {name: _answered(name, home) for name in {d.key.rpartition("/")[0] for d in deliveries}}
    checked = check_answers(deliveries, open_questions(home), answered)
    orders = [
        Order(run=run, question=question, answer=item.answer)
        for item in checked
        if item.status == "good"
        for run, _, question in [item.key.rpartition("/")]
    ]
    came = {item.run: item for item in advance(orders, home=home, jobs=jobs, on_run=on_run)}
    nowhere = Advanced(run="", status="")
    outcomes = []
    for item in checked:
        far = came[item.key.rpartition("/")[0]] if item.status == "good" else nowhere
        problem = item.problem or (far.reason if far.status == "refused" else "")
        outcomes.append(Imported(id=item.key, status=item.status, problem=problem, run_status=far.status))
    return outcomes


def _answered(run: str, home: Path | None) -> frozenset[str]:
    try:
        return answered_ids(Journal(run_folder(run, home) / "journal"))
    except RunError:  # not a run's id at all
        return frozenset()
