"""The `sanitize` tool: races, out-of-bounds and uninitialised accesses."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.task import Case, CaseSet, Task
from .answers import answers
from .device.select import get_device
from .records import Build

_MOST_OPERATIONS = 10_000
"""Of the naive algorithm: a sanitizer makes a kernel a hundred times slower."""


class SanitizeInput(BaseModel):
    """What to look through."""

    build: dict[str, Any] = Field(description="The Build that the nvcc tool returned.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: str = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")


@tool("sanitize", args_schema=SanitizeInput)
@answers
def sanitize(build: dict[str, Any], task: str, precision: str, device: str = "auto") -> dict[str, Any]:
    """Run the sanitizer at hidden sizes. Answers {"status": "ok" | "found", "findings": [CaseEvidence…]}."""
    what, where = load_task(task), get_device(device)
    found = where.sanitize(Build.model_validate(build), what, Precision(precision), sanitized_cases(what))
    return {"status": "found" if found else "ok", "findings": [f.model_dump(mode="json") for f in found]}


def sanitized_cases(task: Task) -> tuple[Case, ...]:
    """Return the largest small case and the largest hidden one that a sanitizer can afford: many blocks and a tail."""
    chosen: list[Case] = []
    for cases in (task.in_set(CaseSet.SMALL), task.in_set(CaseSet.HIDDEN)):
        ordered = sorted(cases, key=lambda c: task.complexity(c.sizes))
        affordable = [c for c in ordered if task.complexity(c.sizes) <= _MOST_OPERATIONS]
        chosen += affordable[-1:] or ([] if chosen else ordered[:1])
    return tuple(chosen)
