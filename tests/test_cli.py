"""The command line: quick to start, one line for what a person can mend, JSON for machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cudamaster import cli
from cudamaster.graph import api, one_kernel, run
from cudamaster.models.errors import ModelAuthError
from cudamaster.models.factory import chat_model
from cudamaster.models.mailbox import MailboxChat
from cudamaster.tools.device import select
from cudamaster.tools.device.port import DeviceUnavailable
from typer.testing import CliRunner, Result

from .graph.conftest import Bench
from .graph.fakes import FakeDevice, fence, plan, replies, source, toolbox

Run = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(
        tmp_path / "home",
        replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0)), fence(source("pass", 0.5))]),
    )
    monkeypatch.setattr(run, "context_of", made.context)

    def device(name: str) -> Any:
        if name == "cuda":
            raise DeviceUnavailable("no GPU answers: install a driver, or use --device cpu")
        return FakeDevice()

    monkeypatch.setattr(select, "get_device", device)
    monkeypatch.setattr(api, "get_device", device)
    monkeypatch.setattr(one_kernel, "get_device", device)
    monkeypatch.setattr(
        one_kernel, "Context", lambda: type("C", (), {"toolbox": toolbox(tmp_path, made.faults, made.tool_calls)})
    )
    monkeypatch.setenv("CUDAMASTER_HOME", str(made.home))
    return made


@pytest.fixture
def cudamaster(bench: Bench) -> Run:
    def call(*arguments: object) -> Result:
        return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])

    return call


def test_help_is_quick_since_it_imports_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['cudamaster', '--help']\n"
        "import cudamaster, cudamaster.cli\n"
        "try: cudamaster.cli.main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = ('langgraph', 'langchain', 'langchain_core', 'langsmith', 'numpy', 'scipy', 'pydantic', 'jinja2')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "optimize" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_optimize_prints_json_for_machines(cudamaster: Run, bench: Bench) -> None:
    done = cudamaster("optimize", "dot_product", "--rounds", 2, "--run-id", "a", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["status"], told["run"], told["unit"]) == ("improved", "a", "dot_product-fp32")
    assert told["speedup"] is None
    assert told["estimated_speedup"] == {"value": 3.0, "ci95": None, "method": "cost model", "set": "paper"}
    assert Path(told["best"]["file"]).read_text() == source("pass", 3.0)
    listed = json.loads(cudamaster("runs", "--json").stdout)
    assert [item["run"] for item in listed] == ["a"]
    assert json.loads(cudamaster("runs", "a", "--json").stdout) == told


def test_optimize_tells_people_what_happens_and_what_next(cudamaster: Run) -> None:
    done = cudamaster("optimize", "dot_product", "--rounds", 1, "--run-id", "a")
    assert done.exit_code == 0
    for word in ("planner", "strategy_1", "run", "pass, 2x"):
        assert word in done.stderr
    for word in ("estimated speedup", "2x", "kernel.cu", "next", "report.md"):
        assert word in done.stdout
    assert "estimated" in cudamaster("runs", "a").stdout
    assert "2x est." in cudamaster("runs").stdout


def test_nothing_won_is_no_failure_and_has_no_best(cudamaster: Run, bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 0.5))])
    done = cudamaster("optimize", "dot_product", "--rounds", 1, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["status"], told["best"], told["estimated_speedup"]) == (0, "no_gain", None, None)


def test_a_question_a_budget_and_a_failure_have_exit_codes_of_their_own(cudamaster: Run, bench: Bench) -> None:
    done = cudamaster("optimize", "dot_product", "--max-calls", 1, "--run-id", "poor", "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (4, "stopped_budget")
    done = cudamaster("resume", "poor", "--max-calls", 99, "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (0, "improved")
    bench.model = MailboxChat()
    done = cudamaster("optimize", "dot_product", "--model", "mailbox", "--run-id", "asks", "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (3, "waiting_model")
    assert json.loads(done.stdout)["questions"][0]["agent"] == "planner"
    wrong = bench.home / "wrong.cu"
    wrong.write_text(source("wrong"))
    done = cudamaster("optimize", "dot_product", "--from", wrong, "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (1, "failed")


@pytest.mark.parametrize("rounds", [2, 4])
def test_a_run_that_goes_on_may_end_after_fewer_or_more_rounds(cudamaster: Run, bench: Bench, rounds: int) -> None:
    bench.script = replies(coder=[fence(source("pass", 1.0 + n)) for n in range(1, 5)])
    assert cudamaster("optimize", "dot_product", "--rounds", 3, "--max-calls", 1, "--run-id", "r").exit_code == 4
    done = cudamaster("resume", "r", "--max-calls", 99, "--rounds", rounds, "--json")
    assert (done.exit_code, json.loads(done.stdout)["rounds"]) == (0, rounds), done.stderr


def test_a_kernel_of_ones_own_is_where_the_run_begins(cudamaster: Run, bench: Bench, tmp_path: Path) -> None:
    mine = tmp_path / "mine.cu"
    mine.write_text(source("pass", 1.0, "this is mine"))
    assert cudamaster("optimize", "dot_product", "--from", mine, "--rounds", 1, "--run-id", "m").exit_code == 0
    assert "this is mine" in bench.asked[0]
    assert "mine.cu" in (bench.home / "runs/m/result/report.md").read_text()


def test_the_paper_preset_gives_way_to_what_is_said(cudamaster: Run, bench: Bench) -> None:
    cudamaster("optimize", "dot_product", "--preset", "paper", "--rounds", 1, "--run-id", "p")
    options = run.read_manifest("p", bench.home).options
    assert (options.rounds, options.profile, options.stop_efficiency) == (1, "filtered", None)
    assert not any("same_address_atomics" in prompt for prompt in bench.asked)


def refuse_key(prompt: str) -> str:
    raise ModelAuthError("the endpoint refuses the key")


BAD_INPUT = {
    "unknown task": (("optimize", "dot_produkt"), "did you mean dot_product"),
    "no GPU": (("optimize", "dot_product", "--device", "cuda"), "no GPU answers"),
    "unknown preset": (("optimize", "dot_product", "--preset", "best"), "unknown preset"),
    "source missing": (("optimize", "dot_product", "--from", "/no/such.cu"), "/no/such.cu cannot be read"),
    "run id": (("optimize", "dot_product", "--run-id", "../x"), "run id '../x'"),
    "unknown run": (("resume", "nothing"), "no run 'nothing'"),
    "unknown run shown": (("runs", "nothing"), "no run 'nothing'"),
    "check: source missing": (("check", "/no/such.cu", "--task", "gelu"), "/no/such.cu cannot be read"),
    "profile: no GPU": (("profile", __file__, "--task", "gelu", "--device", "cuda"), "no GPU answers"),
    "source empty": (("optimize", "dot_product", "--from", os.devnull), "/dev/null is empty"),
    "a folder without a task": (("optimize", "/"), "folder / holds no task.py"),
    "a folder that is not there": (("bench", "./nothing", "--device", "cpu"), "no task folder ./nothing"),
    "unknown task shown": (("tasks", "nothing"), "unknown task"),
    "bench: unknown model": (("bench", "relu", "--device", "cpu", "--model", "foo"), "'foo'"),
    "ablate: unknown model": (("ablate", "model", "relu", "--device", "cpu", "--values", "offline,foo"), "'foo'"),
    "bench: no server": (("bench", "relu", "--device", "cpu", "--checkpoints", "postgres"), "CUDAMASTER_POSTGRES"),
    "no server": (("optimize", "dot_product", "--checkpoints", "postgres"), "CUDAMASTER_POSTGRES"),
    "price unknown": (("optimize", "dot_product", "--max-usd", 1), "the price of"),
    "suite id": (("bench", "relu", "--device", "cpu", "--suite", "a b"), "suite id 'a b'"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_clear_line_and_exit_code_2_and_leaves_nothing(
    cudamaster: Run, bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    arguments, told = BAD_INPUT[name]
    monkeypatch.delenv("CUDAMASTER_POSTGRES", raising=False)
    if name == "no GPU":  # the real context would open the real device

        def no_gpu(self: object) -> None:
            raise DeviceUnavailable("no GPU answers: install a driver, or use --device cpu")

        from .graph import fakes

        original, fakes.FakeContext.open_device = fakes.FakeContext.open_device, no_gpu  # type: ignore[assignment]
        try:
            done = cudamaster(*arguments)
        finally:
            fakes.FakeContext.open_device = original  # type: ignore[method-assign]
    else:
        done = cudamaster(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not [*bench.home.glob("runs/*"), *bench.home.glob("suites/*"), *bench.home.glob("ablations/*")]


def test_an_endpoint_that_refuses_the_key_loses_nothing(cudamaster: Run, bench: Bench) -> None:
    working, bench.script = bench.script, refuse_key
    done = cudamaster("optimize", "dot_product", "--rounds", 1, "--run-id", "k", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "refuses the key" in done.stderr
    assert "cudamaster resume k" in done.stderr
    bench.script = working
    assert cudamaster("resume", "k", "--json").exit_code == 0


def test_a_damaged_checkpoint_and_a_home_that_cannot_be_written(cudamaster: Run, bench: Bench) -> None:
    bench.model = MailboxChat()
    cudamaster("optimize", "dot_product", "--model", "mailbox", "--run-id", "d")
    (bench.home / "runs/d/checkpoint.sqlite").write_bytes(b"damaged" * 1000)
    done = cudamaster("resume", "d")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is damaged" in done.stderr
    file = bench.home / "a-file"
    file.write_text("")
    bench.home = file
    done = cudamaster("optimize", "dot_product", "--home", file)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "cannot be written" in done.stderr
    done = cudamaster("doctor", "--home", file, "--json")
    assert {item["name"]: item["state"] for item in json.loads(done.stdout)}["home"] == "fault"


def test_check_gives_the_verdict_and_the_gain(cudamaster: Run, tmp_path: Path) -> None:
    kernel = tmp_path / "k.cu"
    for order, code in (("pass", 0), ("wrong", 1), ("build_error", 1)):
        kernel.write_text(source(order, 2.5))
        done = cudamaster("check", kernel, "--task", "dot_product", "--json")
        told = json.loads(done.stdout)
        assert (done.exit_code, told["status"]) == (code, order)
        assert (told["estimated_speedup"] or {}).get("value") == (2.5 if order == "pass" else None)
        assert order in cudamaster("check", kernel, "--task", "dot_product").stdout


def test_profile_says_what_limits_a_kernel(cudamaster: Run, bench: Bench, tmp_path: Path) -> None:
    kernel = tmp_path / "k.cu"
    kernel.write_text(source("pass"))
    told = json.loads(cudamaster("profile", kernel, "--task", "dot_product", "--json").stdout)
    assert (told["status"], told["bottleneck"]) == ("ok", "memory_latency_bound")
    assert "same_address_atomics" in cudamaster("profile", kernel, "--task", "dot_product").stdout
    bench.faults["ncu"] = ["unsupported"]
    done = cudamaster("profile", kernel, "--task", "dot_product")
    assert (done.exit_code, "unsupported" in done.stdout) == (1, True)


def test_compare_says_what_moved(cudamaster: Run, bench: Bench, tmp_path: Path) -> None:
    kernels = tmp_path / "a.cu", tmp_path / "b.cu"
    for kernel in kernels:
        kernel.write_text(source("pass"))
    bench.faults["diagnose"] = ["same_address_atomics", "stall_mix"] * 2
    told = json.loads(cudamaster("compare", *kernels, "--task", "dot_product", "--json").stdout)
    assert (told["status"], told["comparison"]["speedup"]) == ("ok", 1.0)
    shown = cudamaster("compare", *kernels, "--task", "dot_product").stdout
    assert "estimated" in shown
    assert "same time" in shown
    bench.faults["ncu"] = ["ok", "unsupported"]
    done = cudamaster("compare", *kernels, "--task", "dot_product")
    assert (done.exit_code, "the second kernel" in done.stdout) == (1, True)


def test_tasks_are_listed_and_shown_without_the_hidden_cases(cudamaster: Run) -> None:
    assert "result = Σ_i x[i]·y[i]" in cudamaster("tasks").stdout
    told = json.loads(cudamaster("tasks", "dot_product", "--json").stdout)
    assert told["prototypes"][0].startswith('extern "C" cudaError_t dot_product(')
    assert {case["set"] for case in told["cases"]} == {"small", "paper", "large"}


def test_doctor_says_what_is_there_and_what_to_install(cudamaster: Run) -> None:
    told = {item["name"]: item for item in json.loads(cudamaster("doctor", "--json").stdout)}
    assert told["home"]["state"] == told["python"]["state"] == "ok"
    assert all(item["detail"] for item in told.values())
    missing = [item for item in told.values() if item["state"] == "missing"]
    assert all(item["fix"] or item["detail"] for item in missing)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_between_two_steps_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    """A real process: the handler is the command line's own."""
    program = (
        "import sys, time\n"
        "from cudamaster.tests.graph.fakes import FakeContext, fence, replies, source\n"
        "from cudamaster.graph import run\n"
        "inner = replies(coder=[fence(source('pass', 2.0))] * 3)\n"
        "def script(prompt):\n"
        "    time.sleep(0.2)\n"
        "    return inner(prompt)\n"
        "run.context_of = lambda m, h: FakeContext(home=str(h), run_id=m.run_id, script=script, **dict(m.options))\n"
        "from cudamaster import cli\n"
        "cli.main()"
    )
    home = tmp_path / "home"
    command = [
        sys.executable,
        "-c",
        program,
        "optimize",
        "dot_product",
        "--device",
        "cpu",
        "--run-id",
        "t",
        "--home",
        home,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    trace = home / "runs/t/trace.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (trace.exists() and "planner" in trace.read_text()):
        time.sleep(0.005)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "cudamaster resume t" in stderr
    assert "Traceback" not in stderr
    steps = [json.loads(line) for line in trace.read_text().splitlines()]
    assert steps[-1]["event"] == "end"  # the step that ran was let finish


# --- many runs -------------------------------------------------------------------------------------------------------


def test_mailbox_questions_go_out_and_answers_come_in(cudamaster: Run, bench: Bench, tmp_path: Path) -> None:
    bench.model = MailboxChat()
    for name in ("a", "b"):
        cudamaster("optimize", "dot_product", "--model", "mailbox", "--rounds", 1, "--run-id", name)
    listed = json.loads(cudamaster("mailbox", "--json").stdout)
    assert [(item["id"].partition("/")[0], item["agent"]) for item in listed] == [("a", "planner"), ("b", "planner")]
    assert listed[0]["id"] in cudamaster("mailbox").stdout
    file = tmp_path / "questions.jsonl"
    done = cudamaster("mailbox", "export", "--out", file)
    assert "2 questions" in done.stdout
    assert cudamaster("mailbox", "export").stdout == file.read_text()
    assert "<!-- answer a/" in cudamaster("mailbox", "export", "--format", "markdown").stdout

    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(json.dumps(rows[0] | {"text": plan("s")}) + "\n" + json.dumps(rows[1] | {"text": "no"}) + "\n")
    done = cudamaster("mailbox", "import", file, "--jobs", 1)
    assert done.exit_code == 1
    assert "1 of 2 answers used" in done.stdout
    told = json.loads(cudamaster("mailbox", "import", file, "--json").stdout)
    assert [item["status"] for item in told] == ["stale", "bad"]
    file.write_text("Dear all,\n")
    done = cudamaster("mailbox", "import", file)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_runs_are_worked_on_packed_and_unpacked(cudamaster: Run, bench: Bench, tmp_path: Path) -> None:
    bench.device_there[0] = False
    cudamaster("optimize", "dot_product", "--device", "cpu", "--wait-device", "--rounds", 1, "--run-id", "w")
    archive = tmp_path / "runs.tar.xz"
    assert "1 run," in cudamaster("pack", "--out", archive).stdout
    assert cudamaster("work", "--jobs", 1).exit_code == 3
    bench.device_there[0] = True
    told = json.loads(cudamaster("work", "--jobs", 1, "--json").stdout)
    assert [(item["run"], item["status"]) for item in told] == [("w", "improved")]
    assert "no run here can go on" in cudamaster("work").stdout
    done = cudamaster("unpack", archive)
    assert (done.exit_code, "w  kept" in done.stdout) == (0, True)
    done = cudamaster("unpack", archive, "--home", tmp_path / "other")
    assert (done.exit_code, done.stdout) == (0, "w  new\n")
    archive.write_bytes(b"damaged")
    done = cudamaster("unpack", archive)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


def test_work_says_whether_anything_still_waits(cudamaster: Run, bench: Bench) -> None:
    assert cudamaster("work").exit_code == 0
    bench.model = MailboxChat()
    cudamaster("optimize", "dot_product", "--model", "mailbox", "--run-id", "asks")
    assert cudamaster("work").exit_code == 3
    told = cudamaster("mailbox", "export", "--format", "markdown", "--out", bench.home / "q.md").stdout
    assert "1 question in" in told
    assert "heading" in told
    told = cudamaster("mailbox", "export", "--out", bench.home / "q.jsonl").stdout
    assert "1 question in" in told
    assert "`text`" in told


def test_ids_that_must_be_typed_are_shown_whole(cudamaster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "dot_product-fp32-20261130-101500-ab12"
    cudamaster("optimize", "dot_product", "--rounds", 1, "--run-id", name)
    monkeypatch.setenv("COLUMNS", "60")
    assert name in cudamaster("runs").stdout


def test_a_run_is_replayed_from_another_ones_journal(cudamaster: Run, bench: Bench) -> None:
    cudamaster("optimize", "dot_product", "--rounds", 2, "--run-id", "first")
    asked = len(bench.asked)
    bench.model = chat_model(f"replay:{bench.home / 'runs/first/journal'}")
    done = cudamaster("optimize", "dot_product", "--rounds", 2, "--run-id", "again", "--replay", "first", "--json")
    assert (done.exit_code, len(bench.asked)) == (0, asked)
    first = json.loads(cudamaster("runs", "first", "--json").stdout)
    assert json.loads(done.stdout)["best"]["sha256"] == first["best"]["sha256"]
    assert run.read_manifest("again", bench.home).options.model == f"replay:{bench.home / 'runs/first/journal'}"
    done = cudamaster("optimize", "dot_product", "--replay", "first", "--model", "offline")
    assert (done.exit_code, "in place of every --model" in done.stderr) == (2, True)
    assert "no run 'none'" in cudamaster("optimize", "dot_product", "--replay", "none").stderr


# --- before a run ----------------------------------------------------------------------------------------------------


def test_estimate_tells_questions_tokens_and_money(cudamaster: Run) -> None:
    asked = ("estimate", "dot_product", "--model", "openai:gpt-5", "--rounds", 2, "--repairs", 1)
    told = json.loads(cudamaster(*asked, "--json").stdout)
    assert [item["unit"] for item in told["units"]] == ["dot_product-fp32", "dot_product-bf16"]
    assert told["total"]["calls"] == {"low": 12, "high": 16}
    assert 0 < told["total"]["usd"]["low"] < told["total"]["usd"]["high"]
    assert "together" in cudamaster(*asked).stdout
    assert "price unknown" in cudamaster("estimate", "dot_product", "--model", "openai:nobody-knows").stdout
    assert json.loads(cudamaster("estimate", "dot_product", "--json").stdout)["total"]["usd"]["high"] == 0


@pytest.mark.parametrize("agent", ["planner", "coder", "compiler", "debugger"])
def test_prompt_shows_what_an_agent_is_asked(cudamaster: Run, agent: str) -> None:
    done = cudamaster("prompt", "dot_product", "--agent", agent, "--precision", "bf16")
    assert done.exit_code == 0
    for title in ("## Kernel" if agent == "planner" else "## Plan", "## Answer format"):
        assert title in done.stdout
    assert ("## Plan" in done.stdout) is (agent != "planner")
    assert "bf16" in done.stdout
    tokens = json.loads(cudamaster("prompt", "dot_product", "--agent", agent, "--json").stdout)["tokens"]
    assert 300 < tokens < 10_000
    assert "tokens" in done.stderr


def test_prompt_with_a_device_says_what_limits_the_kernel(cudamaster: Run) -> None:
    done = cudamaster("prompt", "dot_product", "--agent", "planner", "--device", "cpu")
    assert "same_address_atomics" in done.stdout


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("optimize", "dot_product", "--rounds", 0), "--rounds"),
        (("optimize", "dot_product", "--nothing"), "--nothing"),
        (("optimize", "dot_product", "--precision", "fp64"), "fp64"),
        (("optimize",), "task"),
        (("optimise", "dot_product"), "optimise"),
        (("mailbox", "exprt"), "exprt"),
        (("mailbox", "import"), "file"),
        (("unpack",), "archive"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line_and_exit_code_2(
    cudamaster: Run, arguments: tuple[object, ...], told: str
) -> None:
    done = cudamaster(*arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert told in done.stderr.lower() if told.islower() else told in done.stderr
    assert "--help`" in done.stderr
