"""The loop: what each outcome leads to, and what the agents are told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cudamaster.graph.build import build_graph
from cudamaster.graph.routing import EDGES, longest_path, recursion_limit
from cudamaster.models.errors import ModelError
from cudamaster.tools.store import Store

from .conftest import Bench
from .fakes import agent_of, fence, plan, replies, source

ROUND = ["planner", "coder", "compiler", "build", "run"]


def repair(text: str) -> str:
    return "Diagnosis: a fault\n" + fence(text)


def history(bench: Bench) -> list[dict[str, Any]]:
    """Return status and place of every attempt, as the report's state has it."""
    from cudamaster.graph import run

    manifest = run.read_manifest("r", bench.home)
    with run._opened(manifest, bench.context(manifest)) as opened:
        return list(opened.snapshot().values["history"])


def test_rounds_start_from_the_best_and_remember_everything(bench: Bench) -> None:
    better, worse, best = source("pass", 2.0, "better"), source("pass", 1.5, "worse"), source("pass", 3.0, "best")
    bench.script = replies(coder=[fence(better), fence(worse), fence(best)])
    summary = bench.start()
    assert bench.path() == [
        "prepare",
        *ROUND,
        "profiler",
        "recorder",
        *ROUND,
        "recorder",
        *ROUND,
        "profiler",
        "recorder",
        "finisher",
    ]
    assert summary.status == "improved"
    assert summary.speedup is None
    assert summary.estimated_speedup is not None
    assert summary.estimated_speedup.value == 3.0
    assert summary.best is not None
    assert summary.best.round == 3
    coders = [prompt for prompt in bench.asked if agent_of(prompt) == "coder"]
    assert ["better" in prompt for prompt in coders] == [False, True, True]
    assert not any("worse" in prompt for prompt in coders)
    last_plan = [prompt for prompt in bench.asked if agent_of(prompt) == "planner"][-1]
    assert "strategy_1" in last_plan
    assert "strategy_3" in last_plan
    assert "same_address_atomics" in last_plan


def test_the_baseline_is_judged_and_counted_once_in_a_home(bench: Bench) -> None:
    bench.faults["ncu"] = ["infra_error", "infra_error"]  # no good answer: not kept
    for run_id, judged, counted in (("a", 1, 2), ("b", 0, 1), ("c", 0, 0)):
        bench.tool_calls.clear()
        bench.script = replies(coder=[fence(source("wrong", 0.5, run_id))])
        bench.start(rounds=1, repairs=0, run_id=run_id)
        called = [name for name, _ in bench.tool_calls]
        assert called.count("run_kernel") == judged + 1  # and the candidate
        assert called.count("ncu") == counted


@pytest.mark.parametrize("status", ["build_error", "launch_error", "wrong", "timeout", "crash", "forbidden"])
def test_a_fault_of_the_candidate_goes_to_the_debugger_with_its_evidence(bench: Bench, status: str) -> None:
    bench.script = replies(coder=[fence(source(status))], debugger=[repair(source("pass", 2.0))])
    summary = bench.start(rounds=1)
    assert summary.status == "improved"
    ran = ["build"] if status == "build_error" else ["build", "run"]
    assert bench.path()[4:] == [*ran, "debugger", "build", "run", "profiler", "recorder", "finisher"]
    asked = next(prompt for prompt in bench.asked if agent_of(prompt) == "debugger")
    assert ("source is bad" if status == "build_error" else f"the evidence of {status}") in asked
    assert [(a["attempt"], a["status"]) for a in history(bench)] == [(0, status), (1, "pass")]


def test_an_option_that_does_not_build_goes_back_to_the_compiler(bench: Bench) -> None:
    bench.script = replies(
        coder=[fence(source("option_error", 2.0))], compiler=['{"max_registers": 16}', '{"max_registers": 64}']
    )
    assert bench.start(rounds=1).status == "improved"
    assert bench.path()[3:6] == ["compiler", "build", "compiler"]
    asked = [prompt for prompt in bench.asked if agent_of(prompt) == "compiler"]
    assert "option is bad" not in asked[0]
    assert "option is bad" in asked[1]


def test_a_round_ends_when_its_repairs_are_used_up(bench: Bench) -> None:
    again = [repair(source("wrong", note=str(i))) for i in range(2)]
    bench.script = replies(coder=[fence(source("wrong"))], debugger=again)
    summary = bench.start(rounds=1, repairs=2)
    assert summary.status == "no_gain"
    assert summary.best is None
    assert bench.path().count("debugger") == 2
    assert [a["attempt"] for a in history(bench)] == [0, 1, 2]


@pytest.mark.parametrize("status", ["suspect", "unchanged", "unsupported"])
def test_what_no_repair_can_mend_ends_the_round_without_one(bench: Bench, status: str) -> None:
    bench.script = replies(coder=[fence(source(status)), fence(source("pass", 2.0))])
    assert bench.start(rounds=2).status == "improved"
    assert "debugger" not in bench.path()
    assert [(a["round"], a["status"]) for a in history(bench)] == [(1, status), (2, "pass")]


def test_the_best_version_offered_again_is_not_judged_again(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 2.0))])
    summary = bench.start(rounds=2)
    assert [(a["round"], a["status"]) for a in history(bench)] == [(1, "pass"), (2, "unchanged")]
    assert summary.estimated_speedup is not None
    assert summary.estimated_speedup.value == 2.0
    assert "debugger" not in bench.path()


CONSTANTS = "constexpr int rows = 8;  // tune: 8 4 16\nconstexpr int step = 1;  // tune: 1 2\n"


def judged(bench: Bench) -> list[str]:
    """Return the sources that were judged, without the baseline."""
    return [arguments["source"] for name, arguments in bench.tool_calls if name == "run_kernel"][1:]


def test_constants_that_the_best_lacks_are_searched_before_a_candidate_is_judged(bench: Bench) -> None:
    first, second = (
        source("pass", 2.0) + CONSTANTS,
        source("pass", 3.0) + CONSTANTS + "constexpr int new = 1;  // tune: 1 7\n",
    )
    bench.script = replies(coder=[fence(first), fence(second)])
    assert bench.start(rounds=2, device="cuda").status == "improved"
    assert bench.path()[4:7] == ["build", "tuner", "run"]
    once, again = judged(bench)[:2]
    assert "rows = 16;" in once
    assert "step = 2;" in once
    assert "rows = 8;" in again, "the best has it: it was searched already"
    assert "new = 7;" in again


def test_the_plan_to_tune_searches_all_constants_of_the_best(bench: Bench) -> None:
    bench.script = replies(
        planner=[plan("s"), plan("tune")],
        coder=[fence(source("pass", 2.0) + CONSTANTS), fence(source("pass", 3.0) + CONSTANTS)],
    )
    bench.start(rounds=2, device="cuda")
    assert [arguments["names"] for name, arguments in bench.tool_calls if name == "tune"] == [["rows", "step"]] * 2


def test_no_search_where_nothing_is_marked_or_none_is_wanted(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0) + CONSTANTS)])
    bench.start(rounds=2, device="cuda", tune=False)
    assert "tuner" not in bench.path()
    bench.script = replies(coder=[fence(source("pass", 2.0) + CONSTANTS)])
    bench.start(rounds=1, device="cpu", run_id="estimated")
    assert "tune" not in [name for name, _ in bench.tool_calls]


def test_a_search_that_fails_leaves_the_candidate_as_it_is(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0) + CONSTANTS)])
    bench.faults["tune"] = ["infra_error", "infra_error"]
    assert bench.start(rounds=1, device="cuda").status == "improved"
    assert bench.path().count("tuner") == 2
    assert "rows = 8;" in judged(bench)[0]


@pytest.mark.parametrize("tool", ["nvcc", "run_kernel", "ncu"])
def test_a_fault_of_the_machine_is_tried_again_and_costs_no_repair(bench: Bench, tool: str) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    bench.faults[tool] = ["ok", "infra_error"]  # prepare first
    summary = bench.start(rounds=1, repairs=0)
    assert summary.status == "improved"
    node = {"nvcc": "build", "run_kernel": "run", "ncu": "profiler"}[tool]
    assert bench.path().count(node) == 2
    assert [(a["attempt"], a["status"]) for a in history(bench)] == [(0, "pass")]


def test_a_baseline_that_the_machine_cannot_build_is_not_called_wrong(bench: Bench) -> None:
    bench.faults["nvcc"] = ["infra_error", "infra_error"]
    summary = bench.start(rounds=1)
    assert summary.status == "failed"
    assert summary.reason.startswith("the kernel that the run starts from could not be built here: ")


def test_a_machine_that_stays_at_fault_ends_the_round_and_no_repair_is_asked(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 2.0))])
    bench.faults["nvcc"] = ["ok", "infra_error", "infra_error"]
    assert bench.start(rounds=2).status == "improved"
    assert [(a["round"], a["status"]) for a in history(bench)] == [(1, "infra_error"), (2, "pass")]
    assert "debugger" not in bench.path()


def test_a_machine_that_judges_nothing_is_a_failure_and_no_lack_of_gain(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 2.0))])
    bench.faults["run_kernel"] = ["ok", *["infra_error"] * 4]
    summary = bench.start(rounds=2)
    assert summary.status == "failed"
    assert summary.reason.startswith("no candidate could be judged here: ")


def test_an_unreadable_answer_is_asked_once_more_with_what_was_wrong(bench: Bench) -> None:
    bench.script = replies(planner=["I would unroll it."], coder=["no code", fence(source("pass", 2.0))])
    assert bench.start(rounds=1).status == "improved"
    assert bench.path()[1:5] == ["planner", "planner", "coder", "coder"]
    for agent in ("planner", "coder"):
        first, second = (prompt for prompt in bench.asked if agent_of(prompt) == agent)
        assert "could not be used" not in first
        assert "could not be used" in second


def test_an_answer_that_stays_unreadable_counts_as_a_failed_attempt(bench: Bench) -> None:
    bench.script = replies(coder=["no code", "still none", fence(source("pass", 2.0))])
    assert bench.start(rounds=2).status == "improved"
    assert [(a["round"], a["status"]) for a in history(bench)] == [(1, "unreadable"), (2, "pass")]


def test_the_run_stops_near_the_floor(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 60.0))])
    summary = bench.start(rounds=3, stop_efficiency=0.5)
    assert summary.status == "improved"
    assert summary.rounds == 1
    assert "floor" in summary.reason


def test_a_version_that_its_diagnosis_calls_near_the_floor_ends_the_run(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0))])
    bench.faults["diagnose"] = [
        "same_address_atomics",
        "near_floor",
    ]  # of the baseline, and of the first round's version
    summary = bench.start(rounds=3)
    assert (summary.status, summary.rounds) == ("improved", 1)
    assert "within 15 % of its floor (atomics = threads)" in summary.reason


def test_a_baseline_near_the_floor_asks_nothing_and_says_so(bench: Bench) -> None:
    bench.faults["diagnose"] = ["near_floor"]
    summary = bench.start(rounds=3)
    assert (summary.status, summary.rounds, bench.asked) == ("no_gain", 0, [])
    assert "nothing left to gain" in summary.reason


def test_without_the_stop_rule_a_run_goes_on_near_the_floor(bench: Bench) -> None:
    bench.faults["diagnose"] = ["near_floor"] * 9
    assert bench.start(rounds=2, stop_efficiency=None).rounds == 2


def test_a_baseline_that_is_wrong_fails_the_run_before_anything_is_asked(bench: Bench) -> None:
    summary = bench.start(source=source("wrong"))
    assert summary.status == "failed"
    assert summary.exit_code == 1
    assert "judged wrong" in summary.reason
    assert bench.asked == []
    assert (bench.home / "runs/r/result/report.md").exists()


def test_a_winner_that_does_not_stand_again_gives_way_to_the_one_before(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0))])
    bench.faults["run_kernel"] = ["ok", "ok", "ok", "wrong"]  # prepare, two rounds, then the finisher
    summary = bench.start(rounds=2)
    assert summary.best is not None
    assert summary.best.round == 1
    assert summary.estimated_speedup is not None
    assert summary.estimated_speedup.value == 2.0


def test_nothing_has_won_if_no_winner_stands_again(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    bench.faults["run_kernel"] = ["ok", "ok", "wrong"]
    summary = bench.start(rounds=1)
    assert (summary.status, summary.best, summary.gain) == ("no_gain", None, None)
    assert "the kernel of round 1, judged again, is wrong" in summary.reason


def test_where_nothing_won_the_summary_says_how_far_the_kernel_is_from_its_floor(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("wrong")), fence(source("pass", 0.5))])
    summary = bench.start(rounds=2, repairs=0)
    assert (summary.status, summary.gain) == ("no_gain", None)
    assert summary.estimated_efficiency is not None
    assert summary.estimated_efficiency.value == pytest.approx(0.01)
    report = (bench.home / "runs/r/result/report.md").read_text()
    assert "Nothing better found, at 1% of the floor as it is." in report
    bench.script = replies(coder=[fence(source("wrong"))])
    assert bench.start(rounds=1, repairs=0, run_id="never-timed").estimated_efficiency is None


def test_a_winner_with_a_race_is_no_winner(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    bench.faults["sanitize"] = ["found"]
    assert bench.start(rounds=1).status == "no_gain"


@pytest.mark.parametrize(("view", "told"), [("none", ""), ("filtered", "l2_hit_rate_pct"), ("full", "duration_us")])
def test_the_profile_view_decides_what_the_planner_reads(bench: Bench, view: str, told: str) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    bench.start(rounds=1, profile=view)
    asked = next(prompt for prompt in bench.asked if agent_of(prompt) == "planner")
    assert "same_address_atomics" not in asked
    assert told in asked
    assert ("l2_hit_rate_pct" in asked) == bool(told)


@pytest.mark.parametrize(("rounds", "repairs"), [(1, 0), (3, 3), (20, 5)])
def test_the_longest_path_is_as_long_as_the_limit_says(bench: Bench, rounds: int, repairs: int) -> None:
    """Every answer is unreadable once, every device fault comes once, and every repair is needed."""
    versions = iter(range(10_000))
    attempts = {"left": repairs}

    def script(prompt: str) -> str:
        agent = agent_of(prompt)
        if "could not be used" not in prompt:
            return "nothing of use"
        if agent in ("planner", "compiler"):
            return plan(f"s{next(versions)}") if agent == "planner" else "{}"
        attempts["left"] = repairs if agent == "coder" else attempts["left"] - 1
        number = next(versions)
        constant = f"constexpr int c{number} = 1;  // tune: 1 2\n"
        return repair(source("wrong" if attempts["left"] else "pass", 2.0 + number, str(number)) + constant)

    bench.script = script
    bench.faults["nvcc"] = ["infra_error", "ok"] * 200
    bench.faults["tune"] = ["infra_error", "ok"] * 200
    bench.faults["run_kernel"] = ["ok", *["infra_error", "ok"] * 200]
    bench.faults["ncu"] = ["ok", *["infra_error", "ok"] * 200]
    summary = bench.start(rounds=rounds, repairs=repairs, stop_efficiency=None, device="cuda")
    assert summary.status == "improved"
    assert len(bench.path()) == longest_path(rounds, repairs) <= recursion_limit(rounds, repairs)
    database = bench.home / "runs/r/checkpoint.sqlite"
    if (rounds, repairs) == (3, 3):
        assert database.stat().st_size < 300_000
    assert max(len(json.dumps(item)) for item in history(bench)) <= 1024


def test_the_drawing_shows_every_edge() -> None:
    drawn = build_graph().get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert edges == {
        ("__start__", "prepare"),
        *((name, target) for name, targets in EDGES.items() for target in targets),
    }


def test_artifacts_are_named_by_content_and_damage_is_seen(tmp_path: Any) -> None:
    store = Store(tmp_path)
    name = store.put("text")
    assert store.put(b"text") == name
    assert store.text(name) == "text"
    store.path(name).write_text("other")
    with pytest.raises(LookupError, match="damaged"):
        store.get(name)
    with pytest.raises(LookupError, match="not in"):
        store.get("0" * 64)


def test_a_model_that_refuses_leaves_the_run_to_be_resumed(bench: Bench) -> None:
    from cudamaster.graph.errors import ModelRefused

    def refuse(prompt: str) -> str:
        raise ModelError("the key is refused")

    bench.script = refuse
    with pytest.raises(ModelRefused, match="resume r"):
        bench.start(rounds=1)
    bench.script = replies(coder=[fence(source("pass", 2.0))])
    assert bench.resume().status == "improved"
    assert bench.path().count("prepare") == 1
