"""The tool that profiles a build: Nsight Compute on the cuda device, the device's own counters on the cpu device."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.task import Case, Task
from .answers import answers
from .device.port import Device, Unsupported
from .device.select import get_device
from .records import Build

_LIGHT_BYTES = 192 << 20
"""Arrays that leave the L2 of any GPU behind, and that are quickly saved and restored."""


class NcuArguments(BaseModel):
    """What to profile, and where."""

    build: dict[str, Any] = Field(description="the Build record of the candidate, as the tool nvcc returned it")
    task: str = Field(description="name of the task, or the folder of one")
    precision: Precision = Field(description="fp32 or bf16")
    device: str = Field(default="auto", description="auto, cuda or cpu")
    case: str = Field(default="", description="name of the case; empty: the heaviest that the device times")


@tool("ncu", args_schema=NcuArguments)
@answers
def ncu(build: dict[str, Any], task: str, precision: Precision, device: str = "auto", case: str = "") -> dict[str, Any]:
    """Count what the launches of one call do. Answers {"status", "profile": Profile}."""
    place, work = get_device(device), load_task(task)
    profile = place.profile(Build.model_validate(build), work, precision, profiled_case(work, place, case))
    return {"status": "ok", "profile": profile.model_dump(mode="json")}


def profiled_case(task: Task, device: Device, name: str = "") -> Case:
    """Return the case of that name; without a name the heaviest that the device times and that is not dear to profile.

    A profiler saves and restores what a kernel writes for each of its passes, and a slow baseline runs that often too.

    Raises:
        Unsupported: the task has no such case.
    """
    if name:
        return named_case(task, name)
    cases = device.timed_cases(task)
    light = [case for case in cases if _array_bytes(task, case) <= _LIGHT_BYTES]
    return max(light or [min(cases, key=partial(_array_bytes, task))], key=lambda case: task.complexity(case.sizes))


def _array_bytes(task: Task, case: Case) -> int:
    return sum(task.contract.bytes_of(a, Precision.FP32, case.sizes) for a in task.contract.arrays)


def named_case(task: Task, name: str) -> Case:
    """Return the case of that name.

    Raises:
        Unsupported: the task has no such case.
    """
    for case in task.cases:
        if case.name == name:
            return case
    raise Unsupported(f"task {task.name} has no case {name!r}: it has {', '.join(c.name for c in task.cases)[:300]}")
