"""What holds for every command: logs, completion, the version, kernels of one's own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cudamaster
import pytest
from cudamaster import cli
from cudamaster.graph.logs import LOGGER, is_told, log_to_stderr
from typer.testing import CliRunner

from .test_cli import Run, bench  # noqa: F401

EXAMPLES = Path(cudamaster.__file__).parent / "examples"


@pytest.fixture
def command(bench: object) -> Run:  # noqa: F811
    return lambda *arguments: CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _quiet_again() -> Iterator[None]:
    yield
    logger = logging.getLogger(LOGGER)
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)


def test_json_logs_have_a_line_for_every_step(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command(
        "--log-level", "info", "--log-format", "json", "optimize", "dot_product", "--rounds", 1, "--run-id", "a"
    )
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["node"] for line in lines][:3] == ["prepare", "planner", "coder"]
    assert all(line["run"] == "a" and line["event"] == "end" and line["level"] == "info" for line in lines)
    assert lines[0].keys() >= {"at", "logger", "message", "round", "seconds"}


def test_text_logs_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert not is_told()
    log_to_stderr("warning")
    assert not is_told()
    log = logging.getLogger(f"{LOGGER}.graph")
    log.info("unheard")
    log.warning("heard %d", 1)
    log_to_stderr("debug", "json")
    assert is_told()
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("failed", extra={"run": "a"})
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("WARNING heard 1")
    told = json.loads(second)
    assert (told["run"], told["message"]) == ("a", "failed")
    assert "ValueError: broken" in told["error"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("cudamaster opt", "optimize"),
        ("cudamaster optimize soft", "softmax softmax_attention"),
        ("cudamaster check k.cu --task dot_", "dot_product"),
        ("cudamaster resume first", "first-run"),
    ],
)
def test_the_shell_completes_commands_tasks_and_runs(words: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "runs/first-run").mkdir(parents=True)
    (tmp_path / "runs/first-run/manifest.json").write_text("{}")
    environment = {
        **os.environ,
        "_CUDAMASTER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "CUDAMASTER_HOME": str(tmp_path),
    }
    program = "import sys; from cudamaster.cli import main; sys.argv = ['cudamaster']; main()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == wanted.split()


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(cli.app, ["--version"]).stdout == f"cudamaster {cudamaster.__version__}\n"


def test_init_says_what_it_guessed_and_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernel = EXAMPLES / "cmake_project/src/softmax.cu"
    include = EXAMPLES / "cmake_project/include"
    done = CliRunner().invoke(cli.app, ["init", str(kernel), "-I", str(include), "-D", "X=1", "--no-check"])
    assert done.exit_code == 0, done.output
    assert "guessed: only written; from its indices" in done.stdout
    assert done.stdout.rstrip().endswith("cudamaster optimize ./softmax")
    assert CliRunner().invoke(cli.app, ["init", str(kernel), "-I", str(include), "--no-check"]).exit_code == 2
    done = CliRunner().invoke(cli.app, ["init", str(EXAMPLES / "single_file/saxpy.cu"), "--no-check"])
    assert done.exit_code == 2
    assert "\nvoid launch_saxpy(const float* x," in done.stderr, "code to copy keeps its lines"
    wrong = CliRunner().invoke(cli.app, ["init", str(kernel), "--role", "x"])
    assert wrong.exit_code == 2
    assert "not NAME=VALUE" in wrong.stderr


def test_a_precision_that_a_task_lacks_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    include = EXAMPLES / "cmake_project/include"
    kernel = EXAMPLES / "cmake_project/src/softmax.cu"
    CliRunner().invoke(cli.app, ["init", str(kernel), "-I", str(include), "--no-check"])
    done = CliRunner().invoke(cli.app, ["check", "softmax/fp32.cu", "--task", "./softmax", "--precision", "bf16"])
    assert done.exit_code == 2
    assert done.stderr == (
        f"cudamaster: task softmax has no kernel in bf16 ({tmp_path}/softmax/bf16.cu is missing; there is: fp32)\n"
    )
