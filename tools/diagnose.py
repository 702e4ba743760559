"""The tool that turns a profile into findings: sentences, evidence, places, and what each could gain at most."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from .answers import answers
from .device.gpu_model import calibrated, gpu_model
from .device.port import Unsupported
from .ncu import named_case
from .profile.diagnosis import diagnose_subject, subject_of
from .profile.filter import PAPER_THRESHOLD_PCT, MissingMetrics
from .profile.kernel_report import kernel_reports
from .records import Build, Profile


class DiagnoseArguments(BaseModel):
    """A profile and what it was taken of."""

    profile: dict[str, Any] = Field(description="the Profile record, as the tool ncu returned it")
    build: dict[str, Any] | None = Field(default=None, description="the Build record; null if there is none")
    source: str = Field(default="", description="the CUDA source that was built")
    task: str = Field(description="name of the task, or the folder of one")
    precision: Precision = Field(description="fp32 or bf16")
    threshold_pct: float = Field(default=PAPER_THRESHOLD_PCT, gt=0, lt=100, description="of the paper's filter")


@tool("diagnose", args_schema=DiagnoseArguments)
@answers
def diagnose(
    profile: dict[str, Any],
    task: str,
    precision: Precision,
    build: dict[str, Any] | None = None,
    source: str = "",
    threshold_pct: float = PAPER_THRESHOLD_PCT,
) -> dict[str, Any]:
    """Say what holds a kernel back, ranked by the most that fixing it could gain.

    Answers the Diagnosis record, and under "kernels" what is known of each kernel.
    """
    record, work = Profile.model_validate(profile), load_task(task)
    home = Path(os.environ.get("CUDAMASTER_HOME") or ".cudamaster")
    made = Build.model_validate(build) if build else None
    gpu = calibrated(gpu_model(record.gpu), home, record.gpu)
    subject = subject_of(record, made, source, work, precision, named_case(work, record.case), gpu)
    try:
        found = diagnose_subject(subject, threshold_pct)
    except MissingMetrics as error:
        raise Unsupported(str(error)) from error
    kernels = [report.model_dump(mode="json") for report in kernel_reports(subject)]
    return {"status": "ok", **found.model_dump(mode="json"), "kernels": kernels}
