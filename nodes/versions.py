"""Versions of the kernel between the state and the tools: built, profiled, and written into the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..prompts.brief import Attempt, Plan
from .context import Context
from .state import State, Version, Word


def build_version(version: Version, state: State, context: Context) -> dict[str, Any]:
    """Return nvcc's answer for a version: the stored one while its library is on this machine, else built again."""
    if version.build:
        build = context.store.get_json(version.build)
        if Path(build["library"]).is_file():
            return {"status": "ok", "build": build}
    answer: dict[str, Any] = context.toolbox.nvcc.invoke(
        {
            "source": context.store.text(version.source),
            "spec": version.spec.model_dump(mode="json"),
            "task": state["task"],
            "precision": state["precision"],
            "device": context.device,
        }
    )
    return answer


def judge_version(
    version: Version,
    build: dict[str, Any],
    baseline: dict[str, Any] | None,
    state: State,
    context: Context,
    *,
    winner: bool = False,
    to_beat: float | None = None,
) -> dict[str, Any]:
    """Return run_kernel's answer for a built version: the verdict and, given the baseline's build, the gain over it.

    A `winner` is looked at again in more ways. Of a gain that is not more than `to_beat` no more has to be known.
    """
    answer: dict[str, Any] = context.toolbox.run_kernel.invoke(
        {
            "build": build,
            "source": context.store.text(version.source),
            "task": state["task"],
            "precision": state["precision"],
            "device": context.device,
            "baseline": baseline,
            "baseline_source": context.store.text(state["baseline"]["source"]) if baseline else "",
            "winner": winner,
            "to_beat": to_beat,
        }
    )
    return answer


def count_version(build: dict[str, Any], state: State, context: Context) -> dict[str, Any]:
    """Return ncu's answer for a build."""
    answer: dict[str, Any] = context.toolbox.ncu.invoke(
        {"build": build, "task": state["task"], "precision": state["precision"], "device": context.device}
    )
    return answer


def diagnosed_version(
    version: Version, build: dict[str, Any], counted: dict[str, Any], state: State, context: Context
) -> Version:
    """Return a version with its profile (ncu's answer), its class and its diagnosis; unchanged if ncu failed."""
    if counted["status"] != "ok":
        return version
    where = {"task": state["task"], "precision": state["precision"]}
    profile = counted["profile"]
    found = context.toolbox.bottleneck_filter.invoke({"profile": profile, "threshold_pct": context.threshold_pct})
    source = context.store.text(version.source)
    diagnosis = context.toolbox.diagnose.invoke({"profile": profile, "build": build, "source": source, **where})
    update = {
        "profile": context.store.put_json(profile),
        "bottleneck": found.get("bottleneck", ""),
        "diagnosis": context.store.put_json(diagnosis) if "findings" in diagnosis else "",
    }
    return version.model_copy(update=update)


def attempt_record(state: State, word: Word, context: Context, candidate: Version | None = None) -> dict[str, Any]:
    """Return the history's record of one attempt (at most 1 KB)."""
    plan = Plan.model_validate(state["plan"]) if state.get("plan") else None
    value = candidate.value if candidate and candidate.gain else None
    tokens = state.get("tokens", {})
    return Attempt(
        round=state["round"],
        attempt=state["attempt"],
        strategy=plan.strategy if plan else "",
        metric=plan.metric if plan else "",
        status=word.status,
        speedup=value if context.device == "cuda" else None,
        estimated_speedup=value if context.device == "cpu" else None,
        best=state.get("improved", False),
        bottleneck=candidate.bottleneck if candidate else "",
        note=word.summary[:300],
        input_tokens=tokens.get("input", 0),
        output_tokens=tokens.get("output", 0),
    ).model_dump(mode="json")
