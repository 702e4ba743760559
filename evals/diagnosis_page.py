"""The page of the baselines' diagnoses, made from the recorded profiles alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..prompts.tokens import estimate_tokens
from ..tools.profile.filter import CLASSIFIED_BY, PAPER_THRESHOLD_PCT, classify
from ..tools.profile.otsu import otsu
from ..tools.profile.text import profile_text
from ..tools.profile.totals import totals
from ..tools.records import Bottleneck
from .baseline_records import ProfiledBaseline

_BAR: Final = 40


def diagnosis_page(baselines: Sequence[ProfiledBaseline]) -> str:
    """Return the page as Markdown.

    Raises:
        ValueError: no baselines, or all have the same throughputs.
    """
    if not baselines:
        raise ValueError("no baseline was profiled")
    first = baselines[0].profile
    values = [totals(b.profile)[name].value for b in baselines for name in CLASSIFIED_BY]
    cut = otsu(values)
    kind = "counted and modelled on the CPU for" if first.device == "cpu" else "measured on"
    lines = [
        f"# The baselines, {kind} one {first.gpu}",
        "",
        f"{len(baselines)} baselines, each at the heaviest of the paper's cases that fits into 192 MB. Generated from the",
        "recorded profiles by `python -m cudamaster.evals.baselines`.",
        "",
        "## Classes",
        "",
        f"| class | paper's threshold {PAPER_THRESHOLD_PCT:.0f} % | Otsu's threshold {cut.threshold:.1f} % |",
        "| --- | --- | --- |",
    ]
    at_paper, at_otsu = (_classes(baselines, t) for t in (PAPER_THRESHOLD_PCT, cut.threshold))
    lines += [f"| {b.value} | {at_paper[b]} | {at_otsu[b]} |" for b in Bottleneck]
    lines += [
        "",
        "The paper counts 24 latency-bound ones among its 100 baselines on an RTX 4090; it does not tell the others.",
        "",
        "## Throughputs and Otsu's threshold",
        "",
        f"Compute, memory and DRAM throughput of every baseline, % of peak: {len(values)} values. Otsu's method "
        f"cuts at {cut.threshold:.1f} % ({cut.below} below, {cut.above} above); it explains "
        f"{100 * cut.separation:.0f} % of the variance.",
        "",
        "```",
    ]
    tallest = max(bar.count for bar in cut.histogram)
    for bar in cut.histogram:
        width = round(_BAR * bar.count / tallest)
        lines.append(f"{bar.low:3.0f} – {bar.high:3.0f} %  {'█' * width}{' ' if width else ''}{bar.count}")
    lines += ["```", "", "## What a model reads", "", *_tokens(baselines)]
    lines += [
        "",
        "## Findings",
        "",
        "| finding | baselines that it is first in | in which it appears |",
        "| --- | --- | --- |",
    ]
    firsts = Counter(b.diagnosis.findings[0].name for b in baselines if b.diagnosis.findings)
    all_names = Counter(name for b in baselines for name in {f.name for f in b.diagnosis.findings})
    lines += [f"| {name} | {firsts[name]} | {count} |" for name, count in all_names.most_common()]
    lines += ["", "## Each baseline", "", "| unit | case | time (us) | class | first finding | bound | what it says |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [_row(b) for b in sorted(baselines, key=lambda b: b.unit)]
    return "\n".join(lines) + "\n"


def _tokens(baselines: Sequence[ProfiledBaseline]) -> list[str]:
    """Return the views' lengths as parts of the full profile's."""
    shares: dict[str, list[float]] = {"filtered": [], "diagnosis": []}
    for baseline in baselines:
        full = estimate_tokens(profile_text(baseline.profile, "full"))
        for view, found in shares.items():
            text = profile_text(baseline.profile, view, baseline.diagnosis)  # type: ignore[arg-type]
            found.append(estimate_tokens(text) / full)
    lines = ["Tokens of a view ÷ tokens of the full profile.", "", "| view | mean | largest |", "| --- | --- | --- |"]
    return lines + [
        f"| {view} | {100 * sum(found) / len(found):.1f} % | {100 * max(found):.1f} % |"
        for view, found in shares.items()
    ]


def _classes(baselines: Sequence[ProfiledBaseline], threshold_pct: float) -> Counter[Bottleneck]:
    return Counter(classify(b.profile, threshold_pct) for b in baselines)


def _row(baseline: ProfiledBaseline) -> str:
    time = totals(baseline.profile).get("duration_us")
    findings = baseline.diagnosis.findings
    told = (findings[0].name, f"{findings[0].bound:.3g}×", findings[0].sentence) if findings else ("–", "–", "–")
    us = f"{time.value:,.1f}" if time else "–"
    return f"| {baseline.unit} | {baseline.case} | {us} | {baseline.diagnosis.bottleneck.value} | {' | '.join(told)} |"
