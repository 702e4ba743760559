"""The tool that classifies a profile by the paper's rule and lets four metrics through."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from pydantic import BaseModel, Field, ValidationError

from .profile.filter import PAPER_THRESHOLD_PCT, MissingMetrics, classify, filtered
from .records import Profile


class BottleneckFilterArguments(BaseModel):
    """A profile, and the threshold of the classes."""

    profile: dict[str, Any] = Field(description="the Profile record, as the tool ncu returned it")
    threshold_pct: float = Field(
        default=PAPER_THRESHOLD_PCT, gt=0, lt=100, description="throughput that counts as high"
    )


@tool(args_schema=BottleneckFilterArguments)
def bottleneck_filter(profile: dict[str, Any], threshold_pct: float = PAPER_THRESHOLD_PCT) -> dict[str, Any]:
    """Name the bottleneck (compute, memory latency, memory bandwidth) and keep the four metrics that matter for it."""
    try:
        record = Profile.model_validate(profile)
        bottleneck = classify(record, threshold_pct)
        kept = filtered(record, threshold_pct)
    except (ValidationError, MissingMetrics) as error:
        return {"status": "unsupported", "reason": str(error)}
    return {
        "status": "ok",
        "bottleneck": str(bottleneck),
        "metrics": {name: metric.model_dump(mode="json") for name, metric in kept.items()},
    }
