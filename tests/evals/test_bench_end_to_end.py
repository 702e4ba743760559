"""A real suite on the cpu device: killed at random instants it ends as an unbroken one does."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from cudamaster.cli import main; main()", "bench", "dot_product", "gelu"]
OPTIONS = ["--suite", "s", "--device", "cpu", "--rounds", "2", "--jobs", "2", "--json"]


def finish(home: Path) -> dict[str, tuple[str, str]]:
    done = subprocess.run([*COMMAND, *OPTIONS, "--home", str(home)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    return {r["run"]: (r["status"], r["summary"]["best"]["strategy"] if r["summary"]["best"] else "") for r in results}


def test_a_suite_killed_five_times_equals_an_unbroken_one(tmp_path: Path) -> None:
    dice = random.Random(7)
    broken = tmp_path / "broken"
    for _ in range(5):
        process = subprocess.Popen(
            [*COMMAND, *OPTIONS, "--home", str(broken)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(dice.uniform(1, 20))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert finish(broken) == finish(tmp_path / "whole")
