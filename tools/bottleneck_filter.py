"""The tool that classifies a profile by the paper's rule and lets four metrics through."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field

from .answers import answers
from .device.port import Unsupported
from .profile.filter import PAPER_THRESHOLD_PCT, MissingMetrics, classify, filtered
from .records import Profile


class BottleneckFilterArguments(BaseModel):
    """A profile, and the threshold of the classes."""

    profile: dict[str, Any] = Field(description="the Profile record, as the tool ncu returned it")
    threshold_pct: float = Field(default=PAPER_THRESHOLD_PCT, gt=0, lt=100, description="of peak: what counts as high")


@tool("bottleneck_filter", args_schema=BottleneckFilterArguments)
@answers
def bottleneck_filter(profile: dict[str, Any], threshold_pct: float = PAPER_THRESHOLD_PCT) -> dict[str, Any]:
    """Name the bottleneck and keep the metrics that matter. Answers {"status", "bottleneck", "metrics"}."""
    record = Profile.model_validate(profile)
    try:
        bottleneck, kept = classify(record, threshold_pct), filtered(record, threshold_pct)
    except MissingMetrics as error:
        raise Unsupported(str(error)) from error
    return {
        "status": "ok",
        "bottleneck": bottleneck.value,
        "metrics": {name: metric.model_dump(mode="json") for name, metric in kept.items()},
    }
