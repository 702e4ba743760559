"""The page that compares suites: an ablation's arms, or any others, each against the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..points import TAUS, Point, markdown_points, point_of
from ..significance import Comparison, compare, sentence
from ..table import gains
from .charts.cost import cost_chart
from .charts.ratios import ratio_chart
from .charts.tau_curve import tau_chart
from .charts.transitions import transition_chart
from .data import ReportData
from .html import render


class Arms(NamedTuple):
    """Suites by the name that each is shown under."""

    what: str
    """What differs between them, e.g. `rounds`."""
    data: Mapping[str, ReportData]

    @property
    def points(self) -> list[Point]:
        """Each suite as one point."""
        return [point_of(arm, d.suite, d.by_unit, d.measurements) for arm, d in self.data.items()]

    @property
    def comparisons(self) -> list[Comparison]:
        """Each suite against the first."""
        by_unit = {arm: {r.unit.name: r.gain for r in d.results} for arm, d in self.data.items()}
        first, *others = by_unit
        return [compare(first, by_unit[first], other, by_unit[other]) for other in others]


def comparison_markdown(arms: Arms) -> str:
    """Return the comparison as Markdown."""
    lines = [f"- {sentence(found)}." for found in arms.comparisons]
    return markdown_points(arms.what, arms.points) + "\n" + "\n".join(lines) + "\n"


def comparison_page(arms: Arms, title: str) -> str:
    """Return the comparison as HTML."""
    points, comparisons = arms.points, arms.comparisons
    names = list(arms.data)
    word = "estimated speedup" if any(p.estimated for p in points) else "speedup"
    curves = {arm: gains(d.suite, d.by_unit) for arm, d in arms.data.items()}
    shown = [(f"{word.capitalize()}: share of units", tau_chart(curves), names)]
    costs = [(p.arm, p.tokens, p.geomean) for p in points if p.tokens]
    if len(costs) > 1:
        shown.append(
            ("Cost against gain", cost_chart(costs, "tokens a unit", f"{word}, geometric mean", named=True), [])
        )
    shown += [
        (f"{found.second} against {found.first}", ratio_chart(found.ratios, found.first, found.second), [])
        for found in comparisons
    ]
    units = list(dict.fromkeys(unit for d in arms.data.values() for unit in d.suite.units))
    found = {arm: d.by_unit for arm, d in arms.data.items()}
    heads = [arms.what, "units", "solved", *(f"P > {t:g}" for t in TAUS), f"{word}, geomean", "P, mean", "questions"]
    return render(
        "comparison.html.j2",
        title=title,
        estimated=any(p.estimated for p in points),
        mixed=len({p.estimated for p in points}) > 1,
        tokens_estimated=any(p.tokens_estimated for p in points),
        sentences=[sentence(found) for found in comparisons],
        heads=[*heads, "tokens", "USD", "seconds"],
        rows=[_cells(p) for p in points],
        charts=shown,
        moves=[(p.arm, transition_chart(p.transitions)) for p in points if p.transitions],
        arms=names,
        units=[
            (u.name, [found[arm][u].gain if u in found[arm] else None for arm in names])
            for u in sorted(units, key=lambda u: u.name)
        ],
    )


def _cells(p: Point) -> list[str]:
    cells = [p.arm, str(p.units), f"{p.success:.0%}", *(f"{p.tau[t]:.0%}" for t in TAUS)]
    cells += [f"{p.geomean:.3g}x", f"{p.weighted:.3g}x", f"{p.calls:.1f}", f"{p.tokens:,.0f}"]
    return [*cells, "–" if p.usd is None else f"{p.usd:.4f}", f"{p.seconds:.1f}"]
