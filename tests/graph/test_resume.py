"""Start, resume, answer: what they go on with, and what they refuse."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.registry import UnknownTask, load_task
from cudamaster.graph import build, run
from cudamaster.graph.errors import (
    BadCheckpoint,
    HomeNotWritable,
    NoSuchQuestion,
    OtherGraph,
    RunBusy,
    RunError,
    RunExists,
    RunFinished,
    RunInterrupted,
    UnknownRun,
)
from cudamaster.graph.manifest import locked
from cudamaster.models.errors import ModelError, ModelUnavailable
from cudamaster.models.mailbox import MailboxChat
from cudamaster.tools.device.port import DeviceUnavailable
from langgraph.runtime import RunControl

from .conftest import Bench
from .fakes import fence, plan, replies, source

GOOD = [fence(source("pass", 2.0)), fence(source("pass", 3.0)), fence(source("pass", 4.0))]


# --- pauses ----------------------------------------------------------------------------------------------------------


def test_a_mailbox_run_asks_one_question_at_a_time_and_ends_like_any_other(bench: Bench, saver_kind: str) -> None:
    bench.model = MailboxChat()
    summary = bench.start(rounds=1, model="mailbox")
    answers = {"planner": plan("s"), "coder": GOOD[0], "compiler": "{}"}
    seen = []
    while summary.status == "waiting_model":
        (question,) = summary.questions
        assert (question.kind, summary.exit_code) == ("question", 3)
        assert bench.resume().questions == summary.questions  # it stays open
        seen.append(question.agent)
        told = {"text": answers[question.agent], "model": "a person", "input_tokens": 7, "output_tokens": 3}
        summary = bench.answer(question.id, told)
    assert seen == ["planner", "coder", "compiler"]
    assert summary.status == "improved"
    assert (summary.spent.calls, summary.spent.input_tokens) == (3, 21)


def test_only_an_open_question_is_answered_and_a_bad_answer_leaves_it_open(bench: Bench, saver_kind: str) -> None:
    bench.model = MailboxChat()
    first = bench.start(rounds=1, model="mailbox").questions[0]
    for wrong in ("0" * 16, "", first.id[:-1]):
        with pytest.raises(NoSuchQuestion, match="no open question"):
            bench.answer(wrong, "text")
    with pytest.raises(ModelError, match="not an answer"):
        bench.answer(first.id, {"txt": "x"})
    second = bench.answer(first.id, plan("s")).questions[0]
    assert second.agent == "coder"
    with pytest.raises(NoSuchQuestion):
        bench.answer(first.id, plan("again"))
    assert bench.resume().questions[0].id == second.id


def test_an_unreadable_mailbox_answer_is_asked_again_as_another_question(bench: Bench) -> None:
    bench.model = MailboxChat()
    first = bench.start(rounds=1, model="mailbox").questions[0]
    second = bench.answer(first.id, "no plan at all").questions[0]
    assert (second.agent, second.id == first.id) == ("planner", False)
    assert "could not be used" in second.prompt


def test_a_run_waits_for_its_device_and_goes_on_where_it_is(bench: Bench, saver_kind: str) -> None:
    bench.script = replies(coder=GOOD)
    bench.device_there[0] = False
    with pytest.raises(DeviceUnavailable):
        bench.start(run_id="refused")
    assert not (bench.home / "runs/refused").exists()
    summary = bench.start(wait_for_device=True)
    assert (summary.status, summary.exit_code) == ("waiting_device", 3)
    assert summary.questions[0].reason == "no device on this machine"
    started = len(bench.steps)
    assert bench.resume().status == "waiting_device"
    assert len(bench.steps) == started  # nothing was done
    bench.device_there[0] = True
    assert bench.resume().status == "improved"


def test_a_device_that_is_lost_on_the_way_pauses_the_node_that_needs_it(bench: Bench, saver_kind: str) -> None:
    bench.script = replies(coder=GOOD)
    bench.faults["run_kernel"] = ["ok", "waiting_device", "waiting_device", "waiting_device"]
    assert bench.start().status == "waiting_device"
    assert bench.path()[-1] == "run"
    assert bench.resume().status == "waiting_device"  # the device is there, the tool says that it is not
    assert bench.resume().status == "improved"
    assert bench.path().count("coder") == 3


def test_a_run_that_stopped_on_its_budget_goes_on_with_a_bigger_one(bench: Bench, saver_kind: str) -> None:
    bench.script = replies(coder=GOOD)
    summary = bench.start(max_calls=4)  # the first round, and a plan
    assert (summary.status, summary.exit_code) == ("stopped_budget", 4)
    assert "--max-calls is 4" in summary.reason
    assert summary.best is not None
    assert Path(summary.best.file).read_text() == source("pass", 2.0)
    assert bench.resume().status == "stopped_budget"
    assert len(bench.asked) == 4
    again = bench.resume(max_calls=5)
    assert (again.status, len(bench.asked)) == ("stopped_budget", 5)
    summary = bench.resume(max_calls=9)
    assert summary.status == "improved"
    assert len(bench.asked) == 9
    assert bench.path().count("prepare") == 1
    assert summary.estimated_speedup is not None
    assert summary.estimated_speedup.value == 4.0


def test_an_endpoint_that_is_down_leaves_the_run_waiting_for_its_model(bench: Bench) -> None:
    def down(prompt: str) -> str:
        raise ModelUnavailable("the endpoint is down")

    bench.script = down
    summary = bench.start(rounds=1)
    assert (summary.status, summary.reason, summary.exit_code) == ("waiting_model", "the endpoint is down", 3)
    bench.script = replies(coder=GOOD)
    assert bench.resume().status == "improved"


@pytest.mark.parametrize("node", ["prepare", "coder", "run", "recorder"])
def test_a_drained_run_stops_between_two_steps_and_goes_on(bench: Bench, saver_kind: str, node: str) -> None:
    bench.script = replies(coder=GOOD)
    control = RunControl()

    def watch(step: run.Step) -> None:
        bench.steps.append(step)
        if step.event == "start" and step.node == node:
            control.request_drain("SIGTERM")

    with pytest.raises(RunInterrupted, match="resume r"):
        run.start("dot_product", "fp32", run_id="r", home=bench.home, on_step=watch, control=control)
    assert bench.path()[-1] == node
    assert run.look("r", home=bench.home).status == "interrupted"
    assert bench.resume().status == "improved"
    assert (bench.path().count("prepare"), bench.path().count("coder")) == (1, 3)
    numbers = [step.number for step in bench.steps if step.event == "start"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_node_that_died_runs_again_and_nothing_before_it(bench: Bench, saver_kind: str) -> None:
    class Power(Exception):
        pass

    calls = []

    def script(prompt: str) -> str:
        calls.append(prompt)
        if len(calls) == 2:
            raise Power
        return working(prompt)

    working = replies(coder=GOOD)
    bench.script = script
    with pytest.raises(Power):
        bench.start(rounds=1)
    assert bench.resume().status == "improved"
    assert bench.path().count("planner") == 1
    assert calls[1] == calls[2]  # the stored prompt is asked again


# --- refusals --------------------------------------------------------------------------------------------------------


def test_what_does_not_exist_has_ended_or_is_taken_is_refused(bench: Bench) -> None:
    bench.script = replies(coder=GOOD)
    with pytest.raises(UnknownRun, match="cudamaster runs"):
        bench.resume("nothing")
    with pytest.raises(UnknownTask, match="dot_product"):
        bench.start(task="dot_produkt")
    bench.start(rounds=1)
    with pytest.raises(RunFinished, match="improved"):
        bench.resume()
    with pytest.raises(RunFinished):
        bench.answer("0" * 16, "text")
    with pytest.raises(RunExists, match="resume r"):
        bench.start()


@pytest.mark.parametrize("name", ["../up", "Upper", "-x", "a" * 65, "a/b", "ä"])
def test_a_run_id_that_could_leave_its_folder_is_refused(bench: Bench, name: str) -> None:
    with pytest.raises(RunError, match="run id"):
        bench.start(run_id=name)
    with pytest.raises(RunError, match="run id"):
        bench.resume(name)


def test_another_version_of_the_graph_or_of_the_task_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.model = MailboxChat()
    bench.start(rounds=1, model="mailbox")
    with monkeypatch.context() as patch:
        patch.setattr(build, "EDGES", {**build.EDGES, "coder": ("build",)})
        with pytest.raises(OtherGraph, match="another version"):
            bench.resume()
    manifest = bench.home / "runs/r/manifest.json"
    changed = json.loads(manifest.read_text()) | {"task_sha256": "0" * 64}
    manifest.write_text(json.dumps(changed))
    with pytest.raises(OtherGraph, match="has changed"):
        bench.resume()


def test_the_graph_version_covers_nodes_edges_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = build.graph_version()
    assert build.graph_version() == plain
    with monkeypatch.context() as patch:
        patch.setattr(build, "EDGES", {**build.EDGES, "new": ("finisher",)})
        assert build.graph_version() != plain
    with monkeypatch.context() as patch:
        patch.setitem(build.State.__annotations__, "new", int)
        assert build.graph_version() != plain


def test_a_second_process_is_refused_with_the_owner(bench: Bench) -> None:
    bench.model = MailboxChat()
    question = bench.start(rounds=1, model="mailbox").questions[0]
    with locked(bench.home / "runs/r"):
        for second in (bench.resume, lambda: bench.answer(question.id, "x")):
            with pytest.raises(RunBusy, match=r"process \d+ on "):
                second()
        assert run.look("r", home=bench.home).status == "running"
    assert bench.resume().status == "waiting_model"


def test_a_damaged_checkpoint_is_one_clear_line_and_the_journal_brings_the_run_back(bench: Bench) -> None:
    bench.script = replies(coder=GOOD)
    control = RunControl()

    def watch(step: run.Step) -> None:
        if step.event == "start" and step.round == 2 and step.node == "run":
            control.request_drain()

    with pytest.raises(RunInterrupted):
        run.start("dot_product", "fp32", run_id="r", home=bench.home, on_step=watch, control=control)
    paid = list(bench.asked)
    file = bench.home / "runs/r/checkpoint.sqlite"
    for damage in (b"no database at all", file.read_bytes()[:5000] + b"\0" * 3000):
        file.write_bytes(damage)
        with pytest.raises(BadCheckpoint, match="remove the file"):
            bench.resume()
        assert "remove the file" in run.list_runs(bench.home)[0].reason
    file.unlink()
    assert bench.resume().status == "improved"
    assert bench.asked[: len(paid)] == paid
    assert len(set(bench.asked)) == len(bench.asked) == 9  # no question was asked twice


def test_a_run_killed_before_its_first_checkpoint_starts_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.script = replies(coder=GOOD)
    with monkeypatch.context() as patch:
        patch.setattr(run, "open_checkpoints", lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            bench.start(rounds=1)
    assert bench.resume().status == "improved"


def test_a_home_that_cannot_be_written_is_said_at_once(bench: Bench) -> None:
    bench.home.write_text("a file, not a folder")
    with pytest.raises(HomeNotWritable, match="--home"):
        bench.start()


def test_a_manifest_that_cannot_be_read_is_said(bench: Bench) -> None:
    (bench.home / "runs/r").mkdir(parents=True)
    (bench.home / "runs/r/manifest.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        bench.resume()


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_checkpoints_are_pruned_to_the_newest_two_and_one_per_round(bench: Bench) -> None:
    bench.script = replies(coder=GOOD)
    bench.start()
    with sqlite3.connect(bench.home / "runs/r/checkpoint.sqlite") as database:
        kept = database.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
        orphans = database.execute(
            "SELECT count(*) FROM writes WHERE checkpoint_id NOT IN (SELECT checkpoint_id FROM checkpoints)"
        ).fetchone()[0]
        mode = database.execute("PRAGMA journal_mode").fetchone()[0]
    assert (kept, orphans, mode) == (2 + 3, 0, "wal")  # round 3 is among the newest; before round 1 there is none yet


def test_the_manifest_holds_all_that_a_resume_needs_and_no_secret(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    bench.script = replies(coder=GOOD)
    bench.start(rounds=1, repairs=2, profile="full")
    files = [path for path in bench.home.rglob("*") if path.is_file()]
    assert not any(b"sk-secret" in path.read_bytes() for path in files)
    manifest = run.read_manifest("r", bench.home)
    assert (manifest.options.repairs, manifest.options.profile) == (2, "full")
    assert manifest.task_sha256 == load_task("dot_product").sha256


def test_state_is_plain_json(bench: Bench) -> None:
    bench.script = replies(coder=GOOD)
    bench.start(rounds=1)
    manifest = run.read_manifest("r", bench.home)
    with run._opened(manifest, bench.context(manifest)) as opened:
        values: dict[str, Any] = opened.snapshot().values
    assert json.loads(json.dumps(values)) == values
    assert len(json.dumps(values)) < 20_000


def test_the_list_of_runs_tells_each_ones_state(bench: Bench) -> None:
    bench.script = replies(coder=[GOOD[0]])
    bench.start(rounds=1, run_id="done")
    bench.model = MailboxChat()
    bench.start(rounds=1, run_id="asks", model="mailbox")
    assert {s.run: s.status for s in run.list_runs(bench.home)} == {"done": "improved", "asks": "waiting_model"}


def test_a_run_whose_folder_is_taken_away_ends_in_one_line(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])

    def take_away(step: run.Step) -> None:
        if (step.node, step.event) == ("coder", "end"):
            shutil.rmtree(bench.home / "runs/r")

    with pytest.raises(RunError, match=r"runs/r/trace\.jsonl cannot be used \(No such file or directory\)"):
        run.start("dot_product", run_id="r", home=bench.home, on_step=take_away)
