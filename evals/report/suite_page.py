"""The page about one suite: summary, charts, a table to sort, and the story of every unit."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...tools.device.gpu_model import gpu_model
from ..astra import astra_table
from ..points import Point, point_of, transitions
from ..suite import UnitResult
from ..table import EFFICIENT, efficient, gains
from .charts.cost import cost_chart
from .charts.roofline import roofline_chart
from .charts.rounds import round_chart
from .charts.sizes import size_chart
from .charts.tau_curve import tau_chart
from .charts.transitions import transition_chart
from .charts.units import unit_chart
from .data import ReportData
from .html import factor, render
from .rows import Row, table_rows
from .story import Round, Story
from .svg import number
from .where import where


class _Cell(NamedTuple):
    text: str
    sort: float | None = None


def suite_page(data: ReportData, title: str) -> str:
    """Return the page as HTML."""
    point = point_of(data.suite.id, data.suite, data.by_unit, list(data.measurements))
    word = "estimated speedup" if data.estimated else "speedup"
    columns = [("unit", "text"), ("status", "text"), (word, "number"), ("95 % interval", "text"), ("P", "number")]
    if data.libraries:
        columns.append(("library", "number"))
    columns += [("efficiency", "number"), ("baseline us", "number"), ("best us", "number"), ("bottleneck", "text")]
    columns += [("strategy", "text"), ("rounds", "number"), ("tokens", "number"), ("seconds", "number")]
    rows = table_rows(data)
    return render(
        "suite.html.j2",
        title=title,
        where=where(data),
        estimated=data.estimated,
        tiles=_tiles(point, data),
        charts=_charts(data),
        columns=columns,
        libraries=bool(data.libraries),
        rows=[{"unit": row.unit, "cells": _cells(row, bool(data.libraries))} for row in rows],
        astra=astra_table(data.by_unit),
        units=[_unit(data, result) for result in data.results],
    )


def _tiles(point: Point, data: ReportData) -> list[tuple[str, str]]:
    word = "estimated speedup" if data.estimated else "speedup"
    efficiency = "an estimated efficiency" if data.estimated else "an efficiency"
    estimated = " (estimated)" if point.tokens_estimated else ""
    solved = round(point.success * point.units)
    tiles = [(f"{solved} of {point.units}", "units solved (τ0)")]
    tiles += [(f"{point.geomean:.3g}x", f"{word}, geometric mean over all")]
    tiles += [(f"{point.weighted:.3g}x", f"the paper's P, mean; above 2 for {point.tau[2.0]:.0%} of units")]
    tiles += [(f"{efficient(data.results)} of {point.units}", f"reach {efficiency} of {EFFICIENT:g} or more")]
    if over := data.over_libraries:
        tiles += [
            (f"{sum(ratio >= 1.0 for ratio in over)} of {len(over)}", "winners as fast as a vendor library, or faster")
        ]
    price = "of an unknown price" if point.usd is None else f"for ${point.usd:.4f}"
    tiles += [(number(point.tokens), f"tokens a unit{estimated}, {price}")]
    busy = sum(sum(story.seconds.values()) for story in data.stories) / max(1, len(data.stories))
    return [*tiles, (f"{busy:.0f} s", "work a unit")]


def _charts(data: ReportData) -> list[tuple[Any, ...]]:
    word = "Estimated speedup" if data.estimated else "Speedup"
    shown: list[tuple[Any, ...]] = []
    if data.results:
        marks = ("", (("0", "winner"), ("1", "fastest vendor library"))) if data.libraries else ()
        shown.append((f"{word} of every unit", unit_chart(data.results, data.estimated, data.libraries), *marks))
    if len(data.results) > 1:
        curve = {data.suite.id: gains(data.suite, data.by_unit)}
        shown.append((f"{word}: share of units", tau_chart(curve), "A unit that failed is under every τ."))
    if data.stories:
        shown.append(("Gain after each round", round_chart(data.stories)))
    if moves := transitions(list(data.measurements)):
        shown.append(("Bottlenecks, before and after", transition_chart(moves), "Classes of the paper's filter."))
    if data.measurements and any(s.roof_before and s.roof_before.flops for s in data.stories):
        gpu = gpu_model(data.measurements[0].device.gpu)
        modelled = any(s.roof_before and s.roof_before.modelled for s in data.stories)
        caption = "Each unit at its profiled size. Units whose task has no proven number of operations are left out."
        caption += " Bytes are modelled." if modelled else " Bytes are the GPU's own count."
        chart = roofline_chart(data.stories, gpu)
        shown.append(("Roofline, before and after", chart, caption, (("before", "baseline"), ("after", "winner"))))
    costs = [(r.unit.name, float(r.cost.input_tokens + r.cost.output_tokens), r.gain) for r in data.results]
    known = [(name, cost, gain) for name, cost, gain in costs if cost > 0 and gain is not None]
    if len(known) > 1:
        estimated = " (estimated)" if any(r.cost.tokens_estimated for r in data.results) else ""
        shown.append(("Cost against gain", cost_chart(known, f"tokens{estimated}", word.lower())))
    return shown


def _cells(row: Row, libraries: bool) -> list[_Cell]:
    interval = f"{row.low:.3g} – {row.high:.3g}" if row.low is not None else ""
    moved = " → ".join(dict.fromkeys(name for name in (row.bottleneck_before, row.bottleneck_after) if name))
    return [
        _Cell(row.status.replace("_", " ")),
        _Cell(factor(row.gain), row.gain or 0.0),
        _Cell(interval),
        _Cell(factor(row.weighted), row.weighted or 0.0),
        *([_Cell(factor(row.library), row.library or 0.0)] if libraries else []),
        _Cell("" if row.efficiency is None else f"{row.efficiency:.0%}", row.efficiency or 0.0),
        _Cell("" if row.baseline_us is None else f"{row.baseline_us:.4g}", row.baseline_us or 0.0),
        _Cell("" if row.best_us is None else f"{row.best_us:.4g}", row.best_us or 0.0),
        _Cell(moved.replace("memory_", "").replace("_bound", "")),
        _Cell(row.strategy),
        _Cell(str(row.rounds), row.rounds),
        _Cell(number(row.tokens), row.tokens),
        _Cell(f"{row.seconds:.1f}", row.seconds),
    ]


def _unit(data: ReportData, result: UnitResult) -> dict[str, Any]:
    story = next((s for s in data.stories if s.unit == result.unit.name), None)
    measured = next((m for m in data.measurements if m.unit == result.unit.name), None)
    summary = result.summary
    status = result.status.replace("_", " ")
    gain = summary.gain if summary and summary.best else None
    if gain:
        interval = f" ({gain.ci95[0]:.3g} to {gain.ci95[1]:.3g})" if gain.ci95 else ""
        shown = f"{gain.value:.3g}x{interval}{' (estimate)' if data.estimated else ''}"
        status = f"{status}: {summary.best.strategy}" if summary and summary.best and summary.best.strategy else status
    else:
        shown = ""
    return {
        "name": result.unit.name,
        "gain": shown,
        "status": status,
        "reason": result.error or (summary.reason if summary else ""),
        "sizes": size_chart(measured.gain.cases, data.estimated) if measured and measured.gain else "",
        "rounds": _rounds(story) if story else [],
        "story": story,
    }


def _rounds(story: Story) -> list[dict[str, Any]]:
    rounds, best = [], 1.0
    for item in story.rounds:
        gain = story.best_after(item.number)
        rounds.append({**{name: getattr(item, name) for name in Round.model_fields}, "won": gain > best})
        best = gain
    return rounds
