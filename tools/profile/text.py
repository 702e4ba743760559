"""A profile in words, as much of it as the chosen view lets through."""

from __future__ import annotations

from typing import Final, Literal

from ..records import Diagnosis, LaunchProfile, Metric, Profile
from .filter import PAPER_THRESHOLD_PCT, classify, filtered
from .metrics import metric_spec

_TOLD: Final = 3
"""Findings told in full: what a reader keeps in mind, and at most 15 % of what all metrics would take."""

View = Literal["none", "filtered", "full", "diagnosis"]


def profile_text(
    profile: Profile, view: View, diagnosis: Diagnosis | None = None, *, threshold_pct: float = PAPER_THRESHOLD_PCT
) -> str:
    """Return the text that a model reads: nothing, the paper's filtered metrics, every metric, or the findings.

    Raises:
        ValueError: the view needs a diagnosis and none was given, or there is no such view.
        MissingMetrics: the filtered view of a profile without throughputs.
    """
    if view == "none":
        return ""
    if view == "filtered":
        lines = [f"Bottleneck: {classify(profile, threshold_pct)}"]
        lines += [_line(name, value) for name, value in filtered(profile, threshold_pct).items()]
        return "\n".join(lines)
    if view == "full":
        return "\n\n".join(_launch(number, launch) for number, launch in enumerate(profile.launches, 1))
    if view == "diagnosis":
        if diagnosis is None:
            raise ValueError("the view `diagnosis` needs a diagnosis")
        return diagnosis_text(diagnosis)
    raise ValueError(f"no view {view!r}: none, filtered, full or diagnosis")


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return the findings as sentences, largest bound first."""
    told, rest = diagnosis.findings[:_TOLD], diagnosis.findings[_TOLD:]
    lines = [f"Bottleneck: {diagnosis.bottleneck}"]
    for position, finding in enumerate(told, 1):
        place = f" [{finding.kernel}{f':{finding.line}' if finding.line else ''}]" if finding.kernel else ""
        gain = f"at most {finding.bound:.3g}x" if finding.bound > 1 else "nothing to gain"
        lines.append(f"{position}. {finding.name} ({gain}){place}: {finding.sentence} Evidence: {finding.evidence}.")
    if rest:
        lines.append(f"Less telling: {', '.join(f'{finding.name} ({finding.bound:.3g}x)' for finding in rest)}.")
    if not told:
        lines.append("No finding applies.")
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a number with four significant digits, without an exponent below 10^15."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _line(name: str, metric: Metric) -> str:
    modelled = " (modelled)" if metric.source == "modelled" else ""
    return f"{name} = {number(metric.value)} {metric.unit}".rstrip() + modelled


def _launch(position: int, launch: LaunchProfile) -> str:
    size = f"grid {'x'.join(map(str, launch.grid))}, block {'x'.join(map(str, launch.block))}"
    lines = [f"Launch {position}: {launch.kernel}, {size}"]
    lines += [f"{_line(name, value)}  # {metric_spec(name).meaning}" for name, value in launch.metrics.items()]
    return "\n".join(lines)
