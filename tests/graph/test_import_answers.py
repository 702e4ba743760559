"""Answers for many runs in one file: each is checked, the good ones advance their runs, the others change nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cudamaster.graph import run
from cudamaster.graph.import_answers import import_answers
from cudamaster.graph.manifest import locked
from cudamaster.graph.questions import open_questions
from cudamaster.graph.work import work
from cudamaster.models.journal import Journal
from cudamaster.models.mailbox import Answer, MailboxChat, deliver
from cudamaster.models.mailbox_file import BadAnswerFile, questions_to_jsonl, questions_to_markdown

from .conftest import Bench
from .fakes import fence, plan, source

ANSWERS = {"planner": plan("s"), "coder": fence(source("pass", 2.0)), "compiler": "{}"}


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def asking(bench: Bench, *runs: str) -> None:
    bench.model = MailboxChat()
    for name in runs:
        bench.start(run_id=name, rounds=1, model="mailbox")


def journal(bench: Bench, name: str) -> Journal:
    return Journal(bench.home / "runs" / name / "journal")


def test_open_questions_of_all_runs_are_exported_and_answered_until_all_have_ended(bench: Bench) -> None:
    asking(bench, "a", "b", "c")
    seen = []
    while questions := open_questions(bench.home):
        assert len({q.key for q in questions}) == 3
        rows = [json.loads(line) for line in questions_to_jsonl(questions).splitlines()]
        seen.append({row["agent"] for row in rows})
        assert all(row["unit"] == "dot_product-fp32" and row["answer_format"] for row in rows)
        filled = [{**row, "text": ANSWERS[row["agent"]], "model": "some-model"} for row in rows]
        outcomes = import_answers(lines(*filled), home=bench.home, jobs=1)
        assert [item.status for item in outcomes] == ["good"] * 3
    assert seen == [{"planner"}, {"coder"}, {"compiler"}]
    for summary in run.list_runs(bench.home):
        assert (summary.status, summary.spent.calls, summary.spent.tokens_estimated) == ("improved", 3, True)
        kept = [journal(bench, summary.run).reply(step) for step in journal(bench, summary.run).steps()]
        assert {reply.model for reply in kept if reply} == {"some-model"}
        assert len(kept) == 3


def test_a_filled_in_document_for_people_does_the_same(bench: Bench) -> None:
    asking(bench, "a")
    (question,) = open_questions(bench.home)
    mark = f"<!-- answer {question.key} -->\n"
    text = questions_to_markdown([question])
    assert question.prompt in text
    text = text.replace(mark, f'<!-- answer {question.key} model="a person" -->\n{plan("s")}\n')
    (outcome,) = import_answers(text, home=bench.home, jobs=1)
    assert (outcome.status, outcome.run_status) == ("good", "waiting_model")
    assert open_questions(bench.home)[0].agent == "coder"


def test_what_is_bad_stale_double_or_unknown_is_said_and_changes_nothing(bench: Bench) -> None:
    asking(bench, "a", "b", "c")
    keys = {q.run: q.key for q in open_questions(bench.home)}
    import_answers(lines({"id": keys["a"], "text": plan("s")}), home=bench.home, jobs=1)
    before = {q.run: q.key for q in open_questions(bench.home)}
    rows = [
        (keys["a"], plan("again"), "stale", "has an answer"),
        (keys["b"], "I would rather not say", "bad", "JSON"),
        (keys["c"], plan("first"), "good", ""),
        (keys["c"], plan("second"), "double", "above"),
        ("c/0000000000000000", plan("x"), "unknown", "no open question"),
        ("nowhere/0000000000000000", plan("x"), "unknown", "no open question"),
        ("../../etc/0000000000000000", plan("x"), "unknown", "no open question"),
        ("no-slash", plan("x"), "unknown", "no open question"),
    ]
    outcomes = import_answers(lines(*({"id": key, "text": text} for key, text, *_ in rows)), home=bench.home, jobs=1)
    assert [item.status for item in outcomes] == [status for _, _, status, _ in rows]
    for item, (_, _, _, told) in zip(outcomes, rows, strict=True):
        assert told in item.problem
    after = {q.run: q.key for q in open_questions(bench.home)}
    assert (after["a"], after["b"]) == (before["a"], before["b"])
    assert after["c"] != before["c"]
    (reply,) = [journal(bench, "c").reply(step) for step in journal(bench, "c").steps() if "planner" in step]
    assert reply is not None
    assert "first" in reply.text


def test_an_answer_whose_process_died_is_used_once_and_not_asked_for_again(bench: Bench) -> None:
    asking(bench, "a")
    (question,) = open_questions(bench.home)
    kept = journal(bench, "a")
    (step,) = kept.steps()
    context = bench.context(run.read_manifest("a", bench.home))
    deliver(Answer(text=plan("the first")), step=step, journal=kept, budget=context.budget)

    assert run.look("a", home=bench.home).status == "interrupted"
    assert open_questions(bench.home) == []
    (outcome,) = import_answers(lines({"id": question.key, "text": plan("late")}), home=bench.home, jobs=1)
    assert outcome.status == "stale"
    (advanced,) = work(home=bench.home, jobs=1)
    assert (advanced.run, advanced.status) == ("a", "waiting_model")
    (following,) = open_questions(bench.home)
    assert following.agent == "coder"
    assert "the first" in following.prompt


def test_a_run_that_is_busy_keeps_its_question_and_the_others_go_on(bench: Bench) -> None:
    asking(bench, "a", "b")
    rows = [{"id": q.key, "text": plan("s")} for q in open_questions(bench.home)]
    with locked(bench.home / "runs/a"):
        outcomes = import_answers(lines(*rows), home=bench.home, jobs=1)
        assert [item.status for item in outcomes] == ["unknown", "good"]
    assert {q.run: q.agent for q in open_questions(bench.home)} == {"a": "planner", "b": "coder"}


def test_a_file_with_no_answers_is_refused(bench: Bench) -> None:
    asking(bench, "a")
    with pytest.raises(BadAnswerFile):
        import_answers("Dear all,\n", home=bench.home)
    assert import_answers(questions_to_jsonl(open_questions(bench.home)), home=bench.home) == []


def test_good_answers_advance_their_runs_in_processes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes are real, and so is all that is in them: a plan needs no tool to be taken in."""
    asking(bench, "a", "b", "c")
    trace = {name: (bench.home / "runs" / name / "trace.jsonl") for name in ("a", "b", "c")}
    rows = [{"id": q.key, "text": plan(f"for {q.run}")} for q in open_questions(bench.home)]
    monkeypatch.setattr("cudamaster.graph.advance.cores", lambda: 2)
    told: list[str] = []
    outcomes = import_answers(lines(*rows), home=bench.home, jobs=8, on_run=lambda item: told.append(item.run))
    assert [(item.status, item.run_status) for item in outcomes] == [("good", "waiting_model")] * 3
    assert sorted(told) == ["a", "b", "c"]
    for question in open_questions(bench.home):
        assert question.agent == "coder"
        assert f"for {question.run}" in question.prompt
        steps = [json.loads(line)["node"] for line in Path(trace[question.run]).read_text().splitlines()]
        assert steps.count("prepare") == 2  # a start and an end
