"""A suite as one point of a comparison: the paper's scores, what they cost, and how bottlenecks moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..benchmark.scoring import geometric_mean, score
from ..benchmark.task import Unit
from ..graph.manifest import run_folder
from ..tools.records import Bottleneck, Record
from ..tools.result.measurements import Measurements
from .suite import Suite, UnitResult, read_results, total_spent

TAUS = (1.0, 2.0, 4.0, 8.0)
"""Thresholds of the paper's tables."""

SHORT = {Bottleneck.COMPUTE: "compute", Bottleneck.LATENCY: "latency", Bottleneck.BANDWIDTH: "bandwidth"}


class Point(Record):
    """One arm. Means are over all units; a failure counts as the baseline, 1.0, and under no threshold."""

    arm: str
    suite: str
    estimated: bool
    """Gains are estimates of the cpu device's cost model."""
    units: int
    success: float
    """τ0: share of units with a verified result."""
    tau: dict[float, float]
    """τ → share of units whose P is above τ, as the paper counts."""
    geomean: float
    """Geometric mean of the units' speedups."""
    weighted: float
    """Arithmetic mean of the units' P, as the paper has it."""
    tokens: float
    """For each unit, in and out."""
    tokens_estimated: bool
    usd: float | None
    """For each unit; None: a price is not known."""
    calls: float
    """Questions for each unit."""
    seconds: float
    """Wall time for each unit, of the process that ended it."""
    transitions: dict[str, int]
    """`class → class`: units by class of baseline and winner."""


def point(arm: str, suite: Suite, home: Path | None = None) -> Point:
    """Return a suite of a home as one point."""
    results = read_results(suite, home)
    measured = [m for result in results.values() if (m := measurements(result, home)) is not None]
    return point_of(arm, suite, results, measured)


def point_of(arm: str, suite: Suite, results: Mapping[Unit, UnitResult], measured: Sequence[Measurements]) -> Point:
    """Return a suite's results as one point. A unit without a result counts as a failure."""
    found = [results[unit] for unit in suite.units if unit in results]
    gains = [results[unit].gain if unit in results else None for unit in suite.units]
    weighted = [results[unit].weighted if unit in results else None for unit in suite.units]
    total = score(gains)
    count = len(suite.units)
    spent = total_spent([result.cost for result in found])
    return Point(
        arm=arm,
        suite=suite.id,
        estimated=suite.options.device == "cpu",
        units=count,
        success=total.solved / count,
        tau={t: sum(p is not None and p > t for p in weighted) / count for t in TAUS},
        geomean=geometric_mean([1.0 if gain is None else gain for gain in gains]),
        weighted=sum(1.0 if p is None else p for p in weighted) / count,
        tokens=(spent.input_tokens + spent.output_tokens) / count,
        tokens_estimated=spent.tokens_estimated,
        usd=None if spent.usd is None else spent.usd / count,
        calls=spent.calls / count,
        seconds=sum(result.seconds for result in found) / count,
        transitions=dict(transitions(measured)),
    )


def measurements(result: UnitResult, home: Path | None = None) -> Measurements | None:
    """Return what a unit's run measured; None if it left none."""
    try:
        return Measurements.model_validate_json(
            (run_folder(result.run, home) / "result" / "measurements.json").read_bytes()
        )
    except FileNotFoundError:
        return None


def transitions(rows: Sequence[Measurements]) -> Counter[str]:
    """Count units by the class of their baseline and of their best kernel (the baseline itself if nothing won)."""
    found: Counter[str] = Counter()
    for row in rows:
        if row.bottleneck_before:
            after = row.bottleneck_after or row.bottleneck_before
            found[f"{SHORT[Bottleneck(row.bottleneck_before)]} → {SHORT[Bottleneck(after)]}"] += 1
    return found


def markdown_points(what: str, table: Sequence[Point]) -> str:
    """Return the points as a Markdown table, one arm a line."""
    word = "estimated speedup" if any(p.estimated for p in table) else "speedup"
    heads = [what, "units", "solved", *(f"P > {t:g}" for t in TAUS), f"{word}, geomean", "P, mean"]
    heads += ["questions", "tokens", "USD", "seconds", "bottlenecks"]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for p in table:
        cells = [p.arm, str(p.units), f"{p.success:.0%}", *(f"{p.tau[t]:.0%}" for t in TAUS)]
        cells += [f"{p.geomean:.3g}x", f"{p.weighted:.3g}x", f"{p.calls:.1f}"]
        cells += [f"{p.tokens:,.0f}{'*' if p.tokens_estimated else ''}", "–" if p.usd is None else f"{p.usd:.4f}"]
        cells += [f"{p.seconds:.1f}", ", ".join(f"{move} {n}" for move, n in sorted(p.transitions.items()))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Questions, tokens, USD and seconds are for each unit; a failure counts as the baseline, 1.0x."]
    if any(p.tokens_estimated for p in table):
        lines.append("* Tokens are estimated from the length of the texts.")
    return "\n".join(lines) + "\n"
