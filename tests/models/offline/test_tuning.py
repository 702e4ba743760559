"""Constants that rules guess are marked for a search, and searched once more when no rule is left."""

from __future__ import annotations

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.chat import answer
from cudamaster.models.offline.planner import plan
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source
from cudamaster.prompts import sections
from cudamaster.prompts.brief import Attempt, Brief, Plan
from cudamaster.prompts.render import render
from cudamaster.tools.tunables import TUNE, tunables, with_values


def spread() -> str:
    found = rule_named("grid_stride_full_grid")
    assert found is not None
    changed = found.changes(Source(load_task("relu").source(Precision.FP32)), Setting())
    assert changed is not None
    return changed


def brief(**more: object) -> Brief:
    task = load_task("relu")
    contract = f"{task.contract.prototype(Precision.FP32)};"
    return Brief.model_validate({
        "agent": "planner", "task_name": "relu", "precision": Precision.FP32, "contract": contract, "source": spread(),
        "round": 9, "rounds": 20, **more,
    })  # fmt: skip


def test_the_first_guess_is_the_first_choice() -> None:
    (constant,) = tunables(spread())
    assert constant == ("threads_of_block", 256, (256, 128, 512, 1024))


def test_constants_are_searched_when_no_rule_is_left_and_only_once_and_on_a_gpu_alone() -> None:
    tried = ["vectorize", "restrict_readonly", "narrow_index"]
    seen = []
    for on_gpu in (False, True, True):
        history = tuple(
            Attempt(round=i + 1, attempt=0, strategy=s, metric="duration_us", status="wrong")
            for i, s in enumerate([*tried, *seen])
        )
        seen.append(plan(sections.read_sections(render(brief(history=history))), Setting(on_gpu=on_gpu)).strategy)
    assert seen == ["none", TUNE, "none"]


def test_to_tune_the_coder_leaves_the_best_kernel_as_it_is() -> None:
    written = answer(render(brief(agent="coder", plan=Plan(strategy=TUNE))))
    assert sections.read_code(written).strip() == spread().strip()


def test_a_candidate_is_known_again_after_a_search_of_its_constants() -> None:
    best = load_task("dot_product").source(Precision.FP32)
    plan_of = Plan(strategy="block_reduce")
    common = {"task_name": "dot_product", "source": best, "plan": plan_of, "error": "wrong: result[0] is 0"}
    first = sections.read_code(answer(render(brief(agent="coder", **common))))
    (constant, *_) = tunables(first)
    tuned = with_values(first, {constant.name: constant.choices[-1]})
    assert tuned != first
    of_both = [answer(render(brief(agent="debugger", candidate=one, **common))) for one in (first, tuned)]
    assert of_both[0] == of_both[1]
