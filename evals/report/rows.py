"""A suite as a flat table: one row a unit, for pages and for export."""

from __future__ import annotations

from pathlib import Path

from ...benchmark.scoring import geometric_mean
from ...tools.records import Record
from .data import ReportData


class Row(Record):
    """One unit. Gains and times are measured, or estimated where `estimated` says so."""

    unit: str
    task: str
    precision: str
    status: str
    estimated: bool
    gain: float | None
    """Geometric mean of the speedup over the timed cases; 1 if nothing won; None: it failed."""
    low: float | None
    high: float | None
    """Ends of its 95 % interval."""
    weighted: float | None
    """The paper's P."""
    library: float | None
    """Speedup over the baseline of the fastest vendor library."""
    efficiency: float | None
    baseline_us: float | None
    best_us: float | None
    """Geometric means over the timed cases."""
    bottleneck_before: str
    bottleneck_after: str
    strategy: str
    rounds: int
    attempts: int
    calls: int
    tokens: int
    tokens_estimated: bool
    usd: float | None
    seconds: float
    """Of work, over all nodes of the run."""
    sha256: str
    """Of the winner's source and build options."""
    error: str


def table_rows(data: ReportData) -> list[Row]:
    """Return the rows, in the suite's order; a unit without a result has the status `not_run`."""
    measured = {m.unit: m for m in data.measurements}
    stories = {s.unit: s for s in data.stories}
    rows = []
    for unit in data.suite.units:
        result = data.by_unit.get(unit)
        summary = result.summary if result else None
        best = summary.best if summary else None
        figure = summary.gain if summary and best else None
        m, story = measured.get(unit.name), stories.get(unit.name)
        cases = m.gain.cases if m and m.gain else ()
        cost = result.cost if result else None
        rows.append(
            Row(
                unit=unit.name,
                task=Path(unit.task).name,
                precision=unit.precision,
                status=result.status if result else "not_run",
                estimated=data.estimated,
                gain=result.gain if result else None,
                low=figure.ci95[0] if figure and figure.ci95 else None,
                high=figure.ci95[1] if figure and figure.ci95 else None,
                weighted=result.weighted if result else None,
                library=data.libraries.get(unit.name),
                efficiency=result.efficiency if result else None,
                baseline_us=geometric_mean([c.baseline_us for c in cases]) if cases else None,
                best_us=geometric_mean([c.candidate_us for c in cases]) if cases else None,
                bottleneck_before=m.bottleneck_before if m else "",
                bottleneck_after=m.bottleneck_after if m else "",
                strategy=best.strategy if best else "",
                rounds=summary.rounds if summary else 0,
                attempts=summary.attempts if summary else 0,
                calls=cost.calls if cost else 0,
                tokens=cost.input_tokens + cost.output_tokens if cost else 0,
                tokens_estimated=cost.tokens_estimated if cost else False,
                usd=cost.usd if cost else None,
                seconds=round(sum(story.seconds.values()), 3) if story else (result.seconds if result else 0.0),
                sha256=best.sha256 if best else "",
                error=result.error if result else "",
            )
        )
    return rows
