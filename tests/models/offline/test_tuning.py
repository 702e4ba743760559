"""Constants that a search may change: one other value a round, each value once."""

from __future__ import annotations

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.planner import plan
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source
from cudamaster.models.offline.tuning import tuned, tunings
from cudamaster.prompts import sections
from cudamaster.prompts.brief import Attempt, Brief
from cudamaster.prompts.render import render


def spread() -> str:
    found = rule_named("grid_stride_full_grid")
    assert found is not None
    changed = found.changes(Source(load_task("relu").source(Precision.FP32)), Setting())
    assert changed is not None
    return changed


def test_a_constant_takes_its_other_values_and_keeps_its_choices() -> None:
    source = spread()
    assert tunings(source) == [f"tune threads_of_block={value}" for value in (128, 512, 1024)]
    other = tuned(source, "tune threads_of_block=512")
    assert other is not None
    assert "constexpr int threads_of_block = 512;" in other
    assert tunings(other) == tunings(source)
    assert tuned(other, "tune threads_of_block=512") is None


def test_values_that_nobody_offered_are_not_taken() -> None:
    assert tuned(spread(), "tune threads_of_block=4096") is None
    assert tuned(spread(), "tune something=128") is None
    assert tuned(spread(), "vectorize") is None


def test_constants_are_tuned_when_no_rule_is_left_and_each_value_once() -> None:
    task = load_task("relu")
    tried = ["vectorize", "restrict_readonly", "narrow_index"]
    seen = []
    for _ in range(4):
        history = tuple(
            Attempt(round=i + 1, attempt=0, strategy=s, metric="duration_us", status="wrong")
            for i, s in enumerate([*tried, *seen])
        )
        contract = f"{task.contract.prototype(Precision.FP32)};"
        brief = Brief.model_validate({
            "agent": "planner", "task_name": "relu", "precision": Precision.FP32, "contract": contract,
            "source": spread(), "history": history, "round": len(history) + 1, "rounds": 20,
        })  # fmt: skip
        seen.append(plan(sections.read_sections(render(brief)), Setting()).strategy)
    assert seen == [*tunings(spread()), "none"]
