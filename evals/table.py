"""A suite's results as a person reads them: one row a unit, then the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..benchmark.scoring import Score, score, tau_curve
from ..benchmark.task import Unit
from ..tools.result.summary import Figure
from .suite import Suite, UnitResult

THRESHOLDS = (1.0, 1.1, 2.0, 4.0, 8.0, 16.0, 32.0)

EFFICIENT = 0.5
"""Efficiency from which a kernel counts as near what the hardware allows."""


def gains(suite: Suite, results: Mapping[Unit, UnitResult]) -> list[float | None]:
    """Return the gain of every unit of the suite, in order; a unit without a result is a failure."""
    return [results[unit].gain if unit in results else None for unit in suite.units]


def suite_score(suite: Suite, results: Mapping[Unit, UnitResult]) -> Score:
    """Return the suite in a few numbers; a unit without a result counts as a failure."""
    return score(gains(suite, results))


def efficient(results: Iterable[UnitResult]) -> int:
    """Count the units whose kernel reaches an efficiency of `EFFICIENT` or more."""
    return sum((result.efficiency or 0.0) >= EFFICIENT for result in results)


def markdown(suite: Suite, results: Mapping[Unit, UnitResult]) -> str:
    """Return the table and the scores as Markdown."""
    measured = suite.options.device == "cuda"
    word, efficiency = ("speedup", "an efficiency") if measured else ("estimated speedup", "an estimated efficiency")
    rows = [f"| unit | status | {word} | weighted | efficiency | strategy |", "| --- | --- | --- | --- | --- | --- |"]
    for unit in suite.units:
        if (result := results.get(unit)) is None:
            rows.append(f"| {unit.name} | not run | | | | |")
            continue
        summary = result.summary
        if summary is None:
            rows.append(f"| {unit.name} | failed: {' '.join(result.error.split())} | | | | |")
            continue
        weighted = summary.weighted_speedup or summary.estimated_weighted_speedup
        cells = [unit.name, result.status.replace("_", " "), _cell(summary.gain), _cell(weighted)]
        cells += ["" if result.efficiency is None else f"{result.efficiency:.0%}"]
        cells += [summary.best.strategy if summary.best else ""]
        rows.append(f"| {' | '.join(cells)} |")
    total = suite_score(suite, results)
    shares = tau_curve(gains(suite, results), THRESHOLDS)
    curve = ", ".join(f"≥ {t:g}x: {share:.0%}" for t, share in zip(THRESHOLDS, shares, strict=True))
    mean = f"{total.geomean_solved:.3g}x" if total.geomean_solved else "none"
    return "\n".join(
        [
            *rows,
            "",
            f"{total.solved} of {total.units} units solved; geometric mean of the {word}: {mean} over these, "
            f"{total.geomean_all:.3g}x over all (a failure leaves the baseline). Share of all units {curve}. "
            f"{efficient(results.values())} units reach {efficiency} of {EFFICIENT:g} or more.",
            "",
        ]
    )


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    interval = f" [{figure.ci95[0]:.3g}, {figure.ci95[1]:.3g}]" if figure.ci95 else ""
    return f"{figure.value:.3g}x{interval}"
