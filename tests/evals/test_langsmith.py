"""Units as a LangSmith dataset, and a suite as an experiment whose evaluator is our judge."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals.langsmith_dataset import push
from cudamaster.evals.langsmith_experiment import run_experiment
from cudamaster.evals.suite import open_suite
from cudamaster.evals.unit import run_unit
from cudamaster.graph.errors import RunError
from cudamaster.nodes.context import Options
from langsmith import Client
from langsmith import testing as log

from ..graph.conftest import Bench
from ..graph.fakes import agent_of, fence, plan, source, toolbox
from ..support.fake_langsmith import FakeLangSmith

UNITS = [Unit(task="dot_product", precision=p) for p in Precision]


def client_of(fake: FakeLangSmith) -> Client:
    return Client(api_url=fake.url, api_key="key", retry_config=None)


def answers(prompt: str) -> str:
    return {"planner": plan("s"), "coder": fence(source("pass", 2.0)), "compiler": "{}"}[agent_of(prompt)]


@pytest.fixture
def judged(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Let runs and the judge work on fakes; return what the judge is asked."""
    bench.script = answers
    calls: list[tuple[str, Any]] = []
    fakes = toolbox(tmp_path, {}, calls)
    monkeypatch.setattr("cudamaster.tools.nvcc.nvcc", fakes.nvcc)
    monkeypatch.setattr("cudamaster.tools.run_kernel.run_kernel", fakes.run_kernel)
    return calls


def test_units_are_pushed_once() -> None:
    with FakeLangSmith() as fake:
        assert push(UNITS[:1], "d", client_of(fake))[:2] == (1, 0)
        assert push(UNITS, "d", client_of(fake))[:2] == (1, 1)
        assert push(UNITS, "d", client_of(fake))[:2] == (0, 2)
        inputs = [example["inputs"] for example in fake.examples.values()]
        assert [(i["task"], i["precision"]) for i in inputs] == [("dot_product", "fp32"), ("dot_product", "bf16")]
        assert "d" in fake.datasets
        ids = set(fake.examples)
    with FakeLangSmith() as other:
        push(UNITS, "d", client_of(other))
        assert set(other.examples) == ids, "a unit's example has the same id everywhere"


def test_a_refusal_is_one_clear_line() -> None:
    with FakeLangSmith() as fake:
        fake.refuse = True
        with pytest.raises(RunError, match="LANGSMITH_API_KEY"):
            push(UNITS, "d", client_of(fake))


def test_a_local_experiment_judges_winners_again_and_sends_nothing(
    bench: Bench, judged: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address))
    suite = open_suite("s", UNITS[:1], Options(rounds=1), bench.home)
    (row,) = run_experiment(suite, bench.home, dataset="d", local=True)
    assert row.unit == "dot_product-fp32"
    assert row.scores == {"verified": 1.0, "estimated_speedup": 2.0, "tokens": 330.0}, "no estimate is called a speedup"
    assert [name for name, _ in judged] == ["nvcc", "run_kernel"]
    assert asked == []


def test_a_winner_that_was_tampered_with_is_not_verified(bench: Bench, judged: list[tuple[str, Any]]) -> None:
    suite = open_suite("s", UNITS[:1], Options(rounds=1), bench.home)
    result = run_unit(suite, UNITS[0], bench.home)
    (bench.home / "runs" / result.run / "result" / "kernel.cu").write_text(source("wrong"))
    (row,) = run_experiment(suite, bench.home, dataset="d", local=True)
    assert row.scores["verified"] == 0.0


def test_an_experiment_takes_the_examples_of_the_dataset(bench: Bench, judged: list[tuple[str, Any]]) -> None:
    suite = open_suite("s", UNITS[:1], Options(rounds=1), bench.home)
    with FakeLangSmith() as fake:
        client = client_of(fake)
        push(UNITS[1:], "d", client)
        with pytest.raises(RunError, match="evals push"):
            run_experiment(suite, bench.home, dataset="d", local=False, client=client)


@pytest.mark.langsmith
@pytest.mark.parametrize("unit", UNITS[:1], ids=lambda unit: unit.name)
def test_each_unit_improves(unit: Unit, bench: Bench, judged: list[tuple[str, Any]]) -> None:
    """As LangSmith's pytest plugin has it: with tracking on, each unit is an example with feedback."""
    log.log_inputs({"unit": unit.name})
    result = run_unit(open_suite("s", [unit], Options(rounds=1), bench.home), unit, bench.home)
    log.log_outputs({"status": result.status})
    log.log_feedback(key="estimated_speedup", score=result.gain)
    assert result.status == "improved"
    assert result.gain == 2.0
