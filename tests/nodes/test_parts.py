"""The small parts that nodes share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from cudamaster.nodes.build import telling_line
from cudamaster.nodes.context import Context, Options, context_for
from cudamaster.nodes.hold import held_up
from cudamaster.nodes.report import report_text
from cudamaster.nodes.run import certain_gain, headline, is_better
from cudamaster.prompts.brief import Attempt, Plan, plans_by_round
from cudamaster.tools.records import Diagnosis, Finding
from cudamaster.tools.result.summary import Figure, Summary


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("$ nvcc -include last_error.h k.cu\nk.cu(3): warning: x\nk.cu(7): error: no y", "k.cu(7): error: no y"),
        ("k.cu:5:3: error: expected ';'\nnote: z", "k.cu:5:3: error: expected ';'"),
        ("nvcc fatal   : Unsupported gpu architecture", "nvcc fatal   : Unsupported gpu architecture"),
        ("", ""),
        (
            "$ nvcc k.cu\nptxas info    : 0 bytes gmem\n/usr/bin/ld: required symbol `relu' not defined\n"
            "collect2: error: ld returned 1 exit status",
            "/usr/bin/ld: required symbol `relu' not defined",
        ),
    ],
)
def test_the_telling_line_of_a_log(log: str, line: str) -> None:
    assert telling_line(log) == line


@pytest.mark.parametrize("status", ["infra_error", "noisy"])
def test_a_fault_of_the_machine_is_tried_once_more_and_then_taken_as_it_is(status: str) -> None:
    answer = {"status": status}
    assert held_up("run", answer, {"tries": 0}, Context()) == {"route": "run", "tries": 1}
    assert held_up("run", answer, {"tries": 1}, Context()) is None


@pytest.mark.parametrize("status", ["ok", "pass", "wrong", "unsupported"])
def test_nothing_else_is_held_up(status: str) -> None:
    assert held_up("run", {"status": status}, {}, Context()) is None


def test_a_measured_gain_counts_only_as_far_as_it_is_certain() -> None:
    measured = {"kind": "measured", "geomean": {"value": 1.2, "low": 0.9, "high": 1.5}}
    assert (headline(measured), certain_gain(measured)) == (1.2, 0.9)
    estimated = {"kind": "estimated", "geomean": 1.2}
    assert (headline(estimated), certain_gain(estimated)) == (1.2, 1.2)


@pytest.mark.parametrize(
    ("value", "low", "best", "better"),
    [(2.2, 2.1, 2.0, True), (2.2, 1.9, 2.0, False), (2.01, 2.005, 2.0, False), (1.02, 1.011, 1.0, True)],
)
def test_a_new_best_is_certainly_better_and_by_more_than_the_least(
    value: float, low: float, best: float, better: bool
) -> None:
    gain = {"kind": "measured", "geomean": {"value": value, "low": low, "high": 2 * value}}
    assert is_better(gain, best) == better


def test_a_server_that_gives_no_context_gets_one_named_after_its_thread() -> None:
    def runtime(context: Context | None) -> Any:
        return SimpleNamespace(context=context, execution_info=SimpleNamespace(thread_id="t-1"))

    assert context_for(runtime(None)).run_id == "t-1"
    given = Context(rounds=7)
    assert (context_for(runtime(given)).run_id, context_for(runtime(given)).rounds) == ("t-1", 7)
    named = Context(run_id="mine")
    assert context_for(runtime(named)) is named


def test_options_hold_no_secret_and_refuse_what_makes_no_sense() -> None:
    assert not any("key" in name or "token" in name for name in Options.model_fields if name != "max_tokens")
    for wrong in ({"rounds": 0}, {"repairs": -1}, {"device": "tpu"}, {"profile": "some"}, {"max_usd": -1}):
        with pytest.raises(ValueError):
            Options.model_validate(wrong)


def test_the_report_tells_the_story_in_order() -> None:
    finding = Finding(name="f", sentence="One block works alone.", evidence="e", bound=8)
    diagnosis = Diagnosis(bottleneck="memory_latency_bound", findings=(finding,))
    summary = Summary(
        run="r", unit="gelu-fp32", task="gelu", precision="fp32", device="cpu", status="improved",
        estimated_speedup=Figure(value=3, method="cost model", set="paper"),
    )  # fmt: skip
    history = [
        Attempt(round=1, attempt=0, strategy="grid", status="wrong", note="wrong: case N=1"),
        Attempt(round=1, attempt=1, strategy="grid", status="pass", estimated_speedup=3.0, best=True, note="right"),
        Attempt(round=2, attempt=0, strategy="vectors", status="pass", estimated_speedup=2.0),
    ]
    plans = [Plan(strategy="grid", reasoning="use every SM", metric="duration_us")]
    text = report_text(summary, history, plans, diagnosis, None, "mine.cu")
    story = [
        "# gelu-fp32: 3x faster by estimate", "mine.cu", "memory latency bound", "One block works alone.",
        "## Round 1: grid", "use every SM. It was to move duration_us.", "first version: wrong. case N=1",
        "repair 1: pass, 3x by estimate (new best)", "## Round 2: vectors",
        "2x by estimate (not better than 3x)", "## The end",
    ]  # fmt: skip
    places = [text.index(words) for words in story]
    assert places == sorted(places)


def test_a_strategy_that_is_planned_twice_has_a_reason_for_each_round() -> None:
    history = [
        Attempt(round=1, attempt=0, strategy="tile", status="wrong"),
        Attempt(round=1, attempt=1, strategy="tile", status="pass"),
        Attempt(round=2, attempt=0, strategy="", status="unreadable"),
        Attempt(round=3, attempt=0, strategy="tile", status="pass"),
        Attempt(round=4, attempt=0, strategy="grid", status="pass"),
    ]
    plans = [Plan(strategy=name, reasoning=why) for name, why in (("tile", "a"), ("tile", "b"), ("grid", "c"))]
    assert {n: plan.reasoning for n, plan in plans_by_round(history, plans).items()} == {1: "a", 3: "b", 4: "c"}
    assert plans_by_round(history, plans[2:]) == {4: plans[2]}
