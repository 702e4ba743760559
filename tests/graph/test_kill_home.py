"""SIGKILL at random while two processes work on one home: every run ends, every answer is used once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from cudamaster.graph.questions import open_questions
from cudamaster.graph.run import list_runs
from cudamaster.models.journal import Journal

from ..support.fake_openai import FakeOpenAI
from .fakes import agent_of, fence, plan, source

MODULE = "cudamaster.tests.graph.killed_home"


def progress(home: Path) -> int:
    """Return how much the runs have done: bytes of their traces and files of their journals."""
    traces = sum(path.stat().st_size for path in home.glob("runs/*/trace.jsonl"))
    return traces + 50 * len(list(home.glob("runs/*/journal/*")))


def good(prompt: str) -> str:
    answers = {"planner": plan("over the wire"), "coder": fence(source("pass", 2.0)), "compiler": "{}"}
    return answers[agent_of(prompt)]


@pytest.mark.parametrize(
    ("runs", "kills"), [(2, 2), pytest.param(20, 50, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_killed_again_and_again_all_runs_end_and_nothing_is_asked_or_used_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, kills: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    home, rng = tmp_path / "home", random.Random(kills)
    names = [f"{'http' if number % 2 else 'mail'}-{number}" for number in range(runs)]
    with FakeOpenAI() as server:
        server.reply = lambda prompt: {"content": good(prompt), "sleep": 0.005}
        command = [sys.executable, "-m", MODULE, str(home), server.url, *names]

        def begin() -> subprocess.Popen[str]:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        # In the short form one process at a time is enough: starting one is what takes long.
        workers = [begin() for _ in range(2 if kills > 10 else 1)]
        whole = runs * 3000  # about what `progress` comes to in the end
        for _ in range(kills):
            goal = progress(home) + rng.random() * whole / kills
            deadline = time.monotonic() + 60
            while all(w.poll() is None for w in workers) and progress(home) < goal and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.02)
            place = rng.randrange(len(workers))
            workers[place].kill()
            workers[place].communicate()
            workers[place] = begin()
        for worker in workers:
            _, stderr = worker.communicate(timeout=600)
            assert worker.returncode == 0, stderr

        asked = Counter((body["model"], body["messages"][0]["content"]) for body in server.requests)
    assert len(asked) == 3 * (runs // 2)
    assert sum(asked.values()) - len(asked) <= kills, "only a reply that was lost on its way is asked for again"

    assert {summary.run: summary.status for summary in list_runs(home)} == dict.fromkeys(names, "improved")
    assert open_questions(home) == []
    for name in names:
        journal = Journal(home / "runs" / name / "journal")
        replies = {step: journal.reply(step) for step in journal.steps()}
        assert [step.split(".")[2] for step in replies] == ["coder", "compiler", "planner"], "each was asked once"
        assert None not in replies.values()
        if name.startswith("mail"):
            planned, coded = replies["001.00.planner.0"], replies["001.00.coder.0"]
            assert planned is not None
            assert coded is not None
            assert planned.model in (journal.prompt("001.00.coder.0") or ""), "the answer that was kept was used"
            result = home / "runs" / name / "result"
            assert coded.model in (result / "kernel.cu").read_text()
            assert planned.model == json.loads((result / "summary.json").read_text())["best"]["strategy"]
