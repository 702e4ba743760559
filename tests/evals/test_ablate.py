"""Ablations: each arm a suite, the arms compared, and a command that goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals.ablate import VALUES, arms, points, read_ablation, run_ablation
from cudamaster.evals.order import Order
from cudamaster.evals.points import markdown_points, point_of
from cudamaster.evals.report.command import write_report
from cudamaster.evals.suite import read_results, read_suite
from cudamaster.graph.errors import RunError
from cudamaster.graph.executor import Here
from cudamaster.models.offline.chat import answer
from cudamaster.nodes.context import Options
from typer.testing import CliRunner

from ..graph.conftest import Bench
from ..graph.fakes import agent_of, fence, plan, source
from ..support.fake_openai import FakeOpenAI
from .samples import suite_of
from .test_report import read

UNIT = Unit(task="dot_product", precision=Precision.FP32)


def order(**options: Any) -> Order:
    return Order([UNIT], Options(**options), Here(), "sqlite")


def script(prompt: str) -> str:
    """Make every round twice as fast."""
    best = float(prompt.partition('"gain": ')[2].partition("}")[0] or 1.0)
    answers = {"planner": plan("s"), "coder": fence(source("pass", 2 * best)), "compiler": "{}"}
    return answers[agent_of(prompt)]


def test_the_arms_are_the_papers() -> None:
    assert [a.options.profile for a in arms("profile", [], Options(), 4)] == ["none", "filtered", "full", "diagnosis"]
    assert [a.options.rounds for a in arms("rounds", [], Options(), 4)] == [1, 2, 3, 4, 5]
    assert [a.options.repairs for a in arms("repairs", [], Options(), 4)] == [0, 1, 2, 3]
    paper, ours = (a.options for a in arms("preset", [], Options(rounds=5), 4))
    assert (paper.profile, paper.rounds, paper.stop_efficiency) == ("filtered", 3, None)
    assert ours == Options(rounds=5)
    greedy, best = arms("search", [], Options(rounds=9), 4)
    assert greedy.options == best.options, "both spend as many rounds"
    assert (greedy.search.kind, best.search.kind, best.search.width) == ("greedy", "best-of-n", 4)
    assert [a.options.model for a in arms("model", ["offline", "openai:x"], Options(), 4)] == ["offline", "openai:x"]


@pytest.mark.parametrize(
    ("what", "values", "words"),
    [
        ("model", [], "at least two arms"),
        ("profile", ["full", "full"], "at least two arms"),
        ("profile", ["full", "some"], "profile 'some'"),
        ("rounds", ["1", "many"], "rounds 'many'"),
        ("repairs", ["1", "99"], "repairs '99'"),
        ("search", ["greedy", "luck"], "search 'luck'"),
        ("search", [], "at least 7 rounds"),
    ],
)
def test_arms_that_are_none_are_refused_before_anything_is_written(
    what: str, values: list[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=words):
        run_ablation(what, values, order(), name="a", width=4, home=tmp_path, as_json=True)
    assert list(tmp_path.iterdir()) == []


def test_an_ablation_is_run_compared_and_never_run_again(
    bench: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench.script = script

    def run() -> dict[str, Any]:
        assert run_ablation("rounds", ["1", "3"], order(), name="r", width=4, home=bench.home, as_json=True) == 0
        return json.loads(capsys.readouterr().out)

    first = run()
    assert [(p["arm"], round(p["geomean"], 9), p["estimated"]) for p in first["points"]] == [
        ("1", 2.0, True),
        ("3", 8.0, True),
    ]
    assert [p["calls"] for p in first["points"]] == [3, 9]
    assert [p["tokens"] for p in first["points"]] == [330, 990]
    assert first["points"][1]["transitions"] == {"latency → latency": 1}
    asked = len(bench.asked)
    assert run() == first
    assert len(bench.asked) == asked

    with pytest.raises(RunError, match="other arms"):
        run_ablation("rounds", ["1", "2"], order(), name="r", width=4, home=bench.home, as_json=True)
    ablation = read_ablation("r", bench.home)
    assert ablation is not None
    assert "| 3 | 1 | 100% |" in markdown_points("rounds", points(ablation, bench.home))
    write_report(["r"], out=tmp_path / "r.html", home=bench.home)
    text = read((tmp_path / "r.html").read_text()).text
    assert "rounds 3 is 4x faster than rounds 1 over 1 units, not significantly so" in text
    assert "estimated speedup, geomean" in text


def test_a_point_counts_failures_as_the_baseline() -> None:
    data = suite_of(40)
    found = point_of("x", data.suite, data.by_unit, data.measurements)
    assert (found.units, found.success) == (40, 0.95)
    weighted = [r.weighted for r in data.results if r.weighted]
    assert found.tau[2.0] == sum(p > 2 for p in weighted) / 40
    assert found.weighted == pytest.approx((sum(weighted) + 2) / 40)
    assert sum(found.transitions.values()) == 38
    assert found.usd is not None, "a unit that asked nothing does not hide what the others cost"
    half = point_of("x", data.suite, {r.unit: r for r in data.results[:20]}, data.measurements[:19])
    assert half.success == pytest.approx(19 / 40), "a unit that was not run is no success"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ablations")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", sorted(VALUES))
def test_each_ablation_runs_on_the_cpu_device(what: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamaster.cli import app

    command = ["ablate", what, "rms_norm", "--precision", "fp32", "--device", "cpu", "--home", str(home), "--json"]
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with FakeOpenAI() as server:
        server.reply = lambda prompt: {"content": answer(prompt)}
        if what == "model":
            command += ["--values", "offline,openai:same", "--base-url", server.url]
        if what == "search":
            command += ["--width", "2"]
        if what in ("profile", "repairs", "model"):
            command += ["--rounds", "1"]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)["points"]
    assert [p["arm"] for p in table] == (["offline", "openai:same"] if what == "model" else list(VALUES[what]))
    assert {p["success"] for p in table} == {1.0}
    assert all(p["geomean"] >= 1.0 and p["calls"] >= 3 and p["estimated"] for p in table)
    if what == "model":
        assert table[0]["geomean"] == table[1]["geomean"], "the same answers make the same kernel, whoever gives them"
    ablation = read_ablation(what, home)
    assert ablation is not None
    for suite in ablation.arms.values():
        assert len(read_results(read_suite(suite, home), home)) == 1
