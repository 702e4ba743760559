"""The `run_kernel` tool: verify a built candidate and measure what it gains."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from .answers import answers
from .device.select import get_device
from .judge.gain import with_gain
from .judge.unchanged import unchanged_build
from .judge.verify import verify
from .judge.winner import second_look
from .records import Build


class RunKernelInput(BaseModel):
    """What to run, and against what."""

    build: dict[str, Any] = Field(description="The Build that the nvcc tool returned.")
    source: str = Field(default="", description="The candidate's source, which is screened first.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: str = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")
    baseline: dict[str, Any] | None = Field(default=None, description="Build to compare with; none: verify only.")
    baseline_source: str = Field(default="", description="Source of the baseline if it isn't the task's own.")
    may_be_baseline: bool = Field(default=False, description="Judge the baseline too, instead of calling it unchanged.")
    winner: bool = Field(default=False, description="Look again as at winners: repeated calls, sizes in no list, ncu.")
    to_beat: float | None = Field(default=None, description="Gain over the baseline; only more than that matters.")
    seed: int | None = Field(default=None, description="Seed of the data; none: a fresh one.")


@tool("run_kernel", args_schema=RunKernelInput)
@answers
def run_kernel(
    build: dict[str, Any],
    task: str,
    precision: str,
    source: str = "",
    device: str = "auto",
    baseline: dict[str, Any] | None = None,
    baseline_source: str = "",
    may_be_baseline: bool = False,
    winner: bool = False,
    to_beat: float | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Verify a build at every case and time it. Answers {"status", "verdict": Verdict, "gain": … or null}."""
    where, what, unit = get_device(device), load_task(task), Precision(precision)
    built, against = Build.model_validate(build), Build.model_validate(baseline) if baseline else None
    original = (baseline_source or what.source(unit)) if against and not may_be_baseline else ""
    verdict = verify(built, what, unit, where, seed=seed, source=source, baseline_source=original)
    gain = None
    if against is not None:
        if not may_be_baseline:
            verdict = unchanged_build(verdict, built, against)
        verdict, gain = with_gain(verdict, built, against, what, unit, where, to_beat)
        if winner:
            verdict = second_look(verdict, gain, built, against, what, unit, where)
            gain = gain if verdict.passed else None
    return {
        "status": verdict.status.value,
        "verdict": verdict.model_dump(mode="json"),
        "gain": gain.model_dump(mode="json") if gain else None,
    }
