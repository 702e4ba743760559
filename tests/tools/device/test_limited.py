"""What a compiler may take, and whose fault it is when it takes more."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.tools.device.limited import STARVED, run_limited


@pytest.mark.parametrize(
    ("script", "starved"),
    [("for i in 1 2 3; do sh -c 'while :; do :; done' & done; wait", False), ("sleep 60", True)],
)
def test_a_source_that_keeps_the_compiler_busy_is_told_from_a_machine_that_does_not_let_it_run(
    script: str, starved: bool, tmp_path: Path
) -> None:
    code, output = run_limited(["/bin/sh", "-c", script], tmp_path, 1.0)
    assert code is None
    assert "compiling took more than 1 s and was stopped" in output
    assert (STARVED in output) == starved


def test_what_ends_in_time_says_how(tmp_path: Path) -> None:
    assert run_limited(["/bin/sh", "-c", "echo words; exit 3"], tmp_path, 30) == (3, "words\n")
