"""SIGKILL at random instants while twelve units run in the local pool: all end as in an unbroken run, each once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from cudamaster.evals.suite import read_results

from .killed_suite import UNIT, suites

KILLS = 5


def begin(home: Path) -> subprocess.Popen[bytes]:
    home.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, "-m", "cudamaster.tests.evals.killed_suite", str(home)])


def steps(home: Path) -> int:
    return sum(len(trace.read_bytes().splitlines()) for trace in home.glob("runs/*/trace.jsonl"))


def outcomes(home: Path) -> dict[str, tuple[str, float | None, str, int]]:
    found = {}
    for suite in suites(home):
        result = read_results(suite, home)[UNIT]
        assert result.summary is not None
        assert result.summary.best is not None, result.summary.reason
        found[suite.id] = (result.status, result.gain, result.summary.best.sha256, result.cost.calls)
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_pool_killed_five_times_equals_an_unbroken_one(tmp_path: Path) -> None:
    dice = random.Random(5)
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    process = begin(whole)
    assert process.wait(600) == 0
    for kill in range(KILLS):
        process = begin(broken)
        goal = dice.uniform(kill, kill + 0.9) / KILLS * steps(whole)
        while process.poll() is None and steps(broken) < goal:
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -9, "it had ended already: the kill came too late"
    assert begin(broken).wait(600) == 0
    assert outcomes(broken) == outcomes(whole)
    asked = Counter((broken / "log").read_text().splitlines())
    assert len(asked) == 12 * 3 * 2, "each agent of each suite, in round one and in later ones"
    again = sum(asked.values()) - 12 * 9
    assert 0 <= again <= 2 * KILLS, "at most the two questions in flight are asked again for each kill"
