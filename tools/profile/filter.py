"""The paper's hardware analysis filter: three classes, four metrics kept for each."""

from __future__ import annotations

from typing import Final

from ..records import Bottleneck, Metric, Profile
from .totals import totals

PAPER_THRESHOLD_PCT: Final = 30.0
"""The paper's threshold: Otsu's method over the throughputs of its baselines, on an RTX 4090."""

H200_THRESHOLD_PCT: Final = 37.0
"""The same over this benchmark's baselines on an H200, frozen: docs/results/diagnosis_h200.md has the histogram."""

KEPT: Final[dict[Bottleneck, tuple[str, str, str, str]]] = {
    Bottleneck.COMPUTE: ("sm_throughput_pct", "issue_slots_busy_pct", "executed_ipc_active", "sm_busy_pct"),
    Bottleneck.LATENCY: ("l2_hit_rate_pct", "l1_hit_rate_pct", "executed_ipc_elapsed", "mem_busy_pct"),
    Bottleneck.BANDWIDTH: ("dram_throughput_pct", "memory_throughput_pct", "max_bandwidth_pct", "mem_pipes_busy_pct"),
}
"""The four metrics that a model sees of each class."""

CLASSIFIED_BY: Final = ("sm_throughput_pct", "dram_throughput_pct", "memory_throughput_pct")


class MissingMetrics(LookupError):
    """The profile lacks what the filter classifies by: the message names it."""


def classify(profile: Profile, threshold_pct: float = PAPER_THRESHOLD_PCT) -> Bottleneck:
    """Return the paper's class of a call: compute first, then bandwidth, else latency; throughputs weighted by time.

    Raises:
        MissingMetrics: a throughput is absent.
    """
    found = totals(profile)
    missing = [name for name in CLASSIFIED_BY if name not in found]
    if missing:
        raise MissingMetrics(f"the profile has no {', '.join(missing)}: profile again with the group `filter`")
    compute, dram, memory = (found[name].value for name in CLASSIFIED_BY)
    if compute > threshold_pct:
        return Bottleneck.COMPUTE
    if dram > threshold_pct or memory > threshold_pct:
        return Bottleneck.BANDWIDTH
    return Bottleneck.LATENCY


def filtered(profile: Profile, threshold_pct: float = PAPER_THRESHOLD_PCT) -> dict[str, Metric]:
    """Return the metrics that the filter lets through for the profile's class; those that are absent stay absent.

    Raises:
        MissingMetrics: a throughput to classify by is absent.
    """
    found = totals(profile)
    return {name: found[name] for name in KEPT[classify(profile, threshold_pct)] if name in found}
