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


class SanitizeInput(BaseModel):
    """What to look through."""

    build: dict[str, Any] = Field(description="The Build that the nvcc tool returned.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: str = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")


@tool("sanitize", args_schema=SanitizeInput)
@answers
def sanitize(build: dict[str, Any], task: str, precision: str, device: str = "auto") -> dict[str, Any]:
    """Run the sanitizer at a small case. Answers {"status": "ok" | "found", "findings": [CaseEvidence…]}."""
    what = load_task(task)
    found = get_device(device).sanitize(Build.model_validate(build), what, Precision(precision), _case(what))
    return {"status": "found" if found else "ok", "findings": [f.model_dump(mode="json") for f in found]}


def _case(task: Task) -> Case:
    """Return the largest of the small cases up to 10^4 operations: many blocks and a tail, and still quick."""
    small = sorted(task.in_set(CaseSet.SMALL), key=lambda c: task.complexity(c.sizes))
    return next((c for c in reversed(small) if task.complexity(c.sizes) <= 10_000), small[0])
