"""The offline model answers the four agents' prompts, and answers are a function of the prompt."""

from __future__ import annotations

import json
from pathlib import Path

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline import OfflineChat
from cudamaster.models.offline.rules.narrow_index import NarrowIndex
from cudamaster.models.parse import parse_plan, parse_repair, parse_source, parse_spec
from cudamaster.prompts.brief import AgentName, Attempt, Brief, Plan
from cudamaster.prompts.render import render
from cudamaster.tools.records import Finding

KERNELS = Path(__file__).parent / "kernels"


def brief(agent: AgentName, name: str = "dot_product", **more: object) -> Brief:
    task = load_task(str(KERNELS / name) if (KERNELS / name).is_dir() else name)
    contract = f"{task.contract.prototype(Precision.FP32)};\n{task.contract.workspace_prototype()};"
    values = {
        "agent": agent,
        "task_name": name,
        "precision": Precision.FP32,
        "contract": contract,
        "source": task.source(Precision.FP32),
        **more,
    }
    return Brief.model_validate(values)


def ask(question: Brief) -> str:
    return OfflineChat().invoke(render(question)).text


def finding(name: str, bound: float) -> Finding:
    return Finding(name=name, sentence="It is slow.", evidence="", bound=bound)


def test_the_planner_picks_the_rule_of_the_largest_bound() -> None:
    findings = (finding("narrow_loads", 1.2), finding("same_address_atomics", 9.0))
    assert parse_plan(ask(brief("planner", findings=findings))).strategy == "block_reduce"
    other = (finding("instruction_bound", 9.0), finding("same_address_atomics", 1.2))
    assert parse_plan(ask(brief("planner", findings=other))).strategy == "narrow_index"


def test_a_rule_that_closes_the_way_for_a_better_one_waits() -> None:
    """Narrow indices make kernels templates, and points of those are dealt out no more."""
    joined = parse_source(ask(brief("coder", "stencil_2d", plan=Plan(strategy="join_border"))), "stencil_2d")
    narrow = (finding(NarrowIndex.answers[0], 9.0),)
    first = parse_plan(ask(brief("planner", "stencil_2d", source=joined, findings=narrow))).strategy
    assert first == "point_patches"
    failed = Attempt(round=1, attempt=0, strategy="point_patches", status="wrong")
    then = parse_plan(ask(brief("planner", "stencil_2d", source=joined, findings=narrow, history=(failed,), round=2)))
    assert then.strategy == "march_rows"


def test_the_planner_does_not_repeat_what_did_not_help() -> None:
    failed = Attempt(round=1, attempt=0, strategy="block_reduce", status="wrong")
    first = parse_plan(ask(brief("planner"))).strategy
    assert first == "block_reduce"
    assert parse_plan(ask(brief("planner", history=(failed,), round=2))).strategy != first


def test_the_planner_says_so_when_nothing_is_left() -> None:
    source = parse_source(ask(brief("coder", plan=Plan(strategy="block_reduce"))), "dot_product")
    rules = ("vectorize", "restrict_readonly", "block_reduce", "narrow_index", "one_block_if_small", "early_launch")
    tried = (*rules, "tune")
    history = tuple(Attempt(round=i + 1, attempt=0, strategy=s, status="wrong") for i, s in enumerate(tried))
    plan = parse_plan(ask(brief("planner", source=source, history=history)))
    assert plan.strategy == "none"


def test_the_coder_writes_what_the_plan_says() -> None:
    source = parse_source(ask(brief("coder", plan=Plan(strategy="block_reduce"))), "dot_product")
    assert "__shfl_down_sync" in source
    assert source.count("atomicAdd") == 1


def test_the_coder_leaves_the_kernel_as_it_is_under_a_plan_that_it_does_not_know() -> None:
    question = brief("coder", plan=Plan(strategy="magic"))
    assert parse_source(ask(question), "dot_product") == question.source


def test_the_compiler_keeps_the_defaults() -> None:
    assert parse_spec(ask(brief("compiler"))).model_dump(exclude_defaults=True) == {}


def test_the_debugger_narrows_then_withdraws() -> None:
    plan = Plan(strategy="vectorize")
    question = brief("debugger", "blend", plan=plan, error="out of bounds")
    spread = parse_source(ask(brief("coder", "blend", plan=Plan(strategy="grid_stride_full_grid"))), "blend")
    wide = parse_source(ask(brief("coder", "blend", plan=plan, source=spread)), "blend")
    assert "Vector<float, 4>" in wide
    repair = parse_repair(ask(question.model_copy(update={"source": spread, "candidate": wide})), "blend")
    assert "Vector<float, 2>" in repair.source
    last = parse_repair(ask(question.model_copy(update={"source": spread, "candidate": repair.source})), "blend")
    assert last.source == spread
    assert "withdrawn" in last.diagnosis


def test_answers_are_a_function_of_the_prompt() -> None:
    question = brief("coder", plan=Plan(strategy="vectorize"))
    assert ask(question) == ask(question)
    assert json.loads(ask(brief("planner"))) == json.loads(ask(brief("planner")))
