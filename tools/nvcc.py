"""The `nvcc` tool: compile a candidate for a device."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field, ValidationError

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from .answers import answers
from .device.select import get_device
from .records import Build, BuildSpec, Candidate

_STATUS = {"unsupported": "unsupported", "infra": "infra_error"}


class NvccInput(BaseModel):
    """What to compile, and how."""

    source: str = Field(description="The whole CUDA C++ file.")
    spec: dict[str, Any] = Field(default_factory=dict, description="Build options: the fields of BuildSpec.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: str = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")


@tool("nvcc", args_schema=NvccInput)
@answers
def nvcc(source: str, spec: dict[str, Any], task: str, precision: str, device: str = "auto") -> dict[str, Any]:
    """Compile a candidate. Answers {"status": "ok" | "build_error" | …, "build": Build}."""
    try:
        candidate = Candidate(source=source, spec=BuildSpec.model_validate(spec))
    except ValidationError as error:
        build = Build(ok=False, failure="option", log=f"error: these build options are not allowed: {error}")
    else:
        build = get_device(device).build(candidate, load_task(task), Precision(precision))
    answer = {"status": "ok", "build": build.model_dump(mode="json")}
    if not build.ok:
        answer |= {"status": _STATUS.get(build.failure, "build_error"), "reason": build.log[:2000]}
    return answer
