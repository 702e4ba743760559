"""SIGKILL at random instants: the same final answer, no finished node run twice, no reply paid twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "killed_run.py"


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def replied(home: Path) -> set[str]:
    """Return the identities of the questions whose replies are on disk."""
    files = (home / "runs/r/journal").glob("*.reply.json")
    return {json.loads(path.read_text())["request_sha256"] for path in files}


def finish(home: Path, calls: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SCRIPT, home, calls], capture_output=True, text=True, timeout=100, check=False
    )
    if done.returncode:
        assert "RunFinished" in done.stderr, done.stderr  # the kill came after the end
        return json.loads((home / "runs/r/result/summary.json").read_text())
    return json.loads(done.stdout.splitlines()[-1])


def kill(home: Path, calls: Path, after: int, rng: random.Random) -> None:
    """Advance the run in a process of its own and kill it some time after `after` more lines of its trace."""
    trace = home / "runs/r/trace.jsonl"
    goal = len(lines(trace)) + after
    process = subprocess.Popen(
        [sys.executable, SCRIPT, home, calls], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and len(lines(trace)) < goal and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(rng.random() * 0.03)
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path, kills: int) -> None:
    whole = finish(tmp_path / "whole", tmp_path / "whole-calls")
    rng = random.Random(kills)
    home, calls = tmp_path / "home", tmp_path / "calls"
    for _ in range(kills):
        kill(home, calls, rng.randrange(1, 60 // kills + 3), rng)
        paid, before = replied(home), len(lines(calls))
        # What a later process asks is what had no reply on disk when this one died.
        kill(home, calls, 1, rng) if kills > 3 else None
        assert not paid & set(lines(calls)[before:])
    paid, before = replied(home), len(lines(calls))
    summary = finish(home, calls)
    assert not paid & set(lines(calls)[before:])

    for figure in ("status", "estimated_speedup", "rounds", "attempts", "spent"):
        assert summary[figure] == whole[figure]
    assert summary["best"]["sha256"] == whole["best"]["sha256"]
    started = [json.loads(line) for line in lines(home / "runs/r/trace.jsonl") if '"start"' in line]
    numbers = [step["number"] for step in started]
    assert numbers == sorted(numbers), "a node ran again after the one behind it had begun"
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    clean = [json.loads(line)["node"] for line in lines(tmp_path / "whole/runs/r/trace.jsonl") if '"start"' in line]
    assert [node for _, node in sorted({(s["number"], s["node"]) for s in started})] == clean
