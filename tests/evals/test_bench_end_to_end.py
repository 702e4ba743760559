"""A real suite on the cpu device: killed at random instants it ends as an unbroken one does."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

TASKS = ("rms_norm", "layer_norm", "relu", "sigmoid", "vector_add", "gelu")
KILLS = 5
COMMAND = [sys.executable, "-c", "from cudamaster.cli import main; main()", "bench", *TASKS]
OPTIONS = ["--suite", "s", "--device", "cpu", "--rounds", "1", "--jobs", "2", "--json"]


def begin(home: Path) -> subprocess.Popen[str]:
    command = [*COMMAND, *OPTIONS, "--home", str(home)]
    with home.with_suffix(".err").open("a") as errors:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)


def finish(home: Path) -> dict[str, Any]:
    stdout, _ = (process := begin(home)).communicate(timeout=2400)
    assert process.returncode == 0, home.with_suffix(".err").read_text()
    outcomes = {}
    for result in json.loads(stdout)["results"]:
        best = result["summary"]["best"]
        winner = {key: best[key] for key in ("sha256", "strategy", "round", "attempt")} if best else None
        outcomes[result["run"]] = (result["status"], winner, result["summary"]["spent"]["calls"])
    return outcomes


def progress(home: Path) -> int:
    """Return how many nodes have begun or ended."""
    return sum(len(trace.read_bytes().splitlines()) for trace in home.glob("runs/*/trace.jsonl"))


def test_a_suite_killed_five_times_equals_an_unbroken_one(tmp_path: Path) -> None:
    dice = random.Random(7)
    broken = tmp_path / "broken"
    steps = 18 * 2 * len(TASKS)  # about what `progress` comes to in the end
    for _ in range(KILLS):
        process = begin(broken)
        goal = progress(broken) + dice.uniform(0.5, 1.0) * steps / KILLS
        while process.poll() is None and progress(broken) < goal:
            time.sleep(0.1)
        time.sleep(dice.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it had ended already: the kills come too late"
    whole = finish(tmp_path / "whole")
    assert len(whole) == 12
    assert finish(broken) == whole
    print(json.dumps({"kills": KILLS, "load": os.getloadavg(), "outcomes": whole}))
