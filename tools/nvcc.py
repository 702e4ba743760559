"""The `nvcc` tool: compile a candidate for a device."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from .answers import answers
from .device.select import get_device
from .records import BuildSpec, Candidate

_STATUS = {"unsupported": "unsupported", "infra": "infra_error"}


class NvccInput(BaseModel):
    """What to compile, and how."""

    source: str = Field(description="The whole CUDA C++ file.")
    spec: dict[str, Any] = Field(default_factory=dict, description="Build options: the fields of BuildSpec.")
    task: str = Field(description="Name of the task, or its folder.")
    precision: Precision = Field(description="fp32 or bf16.")
    device: str = Field(default="auto", description="auto, cuda or cpu.")


@tool("nvcc", args_schema=NvccInput)
@answers
def nvcc(source: str, spec: dict[str, Any], task: str, precision: Precision, device: str = "auto") -> dict[str, Any]:
    """Compile a candidate. Answers {"status": "ok" | "build_error" | …, "build": Build}."""
    candidate = Candidate(source=source, spec=BuildSpec.model_validate(spec))
    build = get_device(device).build(candidate, load_task(task), precision)
    status = "ok" if build.ok else _STATUS.get(build.failure, "build_error")
    return {
        "status": status,
        "build": build.model_dump(mode="json"),
        **({} if build.ok else {"reason": build.log[:2000]}),
    }
