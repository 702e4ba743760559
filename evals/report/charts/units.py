"""The speedup of every unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ...suite import UnitResult
from .. import svg
from ..svg import WIDTH


def unit_chart(results: Sequence[UnitResult], estimated: bool, libraries: Mapping[str, float]) -> Markup:
    """Return the speedup of every unit with its 95 % interval, the best first; failures are named.

    A mark shows what the fastest vendor library makes of a unit, where `libraries` has it.
    """
    left, row, head = 176, 17, 6
    shown = sorted(results, key=lambda r: -(r.gain or 0.0))
    solved = [r.gain for r in shown if r.gain is not None]
    x = svg.log_axis([1.0, *solved, *libraries.values(), 2.0], left, WIDTH - 46)
    bottom = head + row * len(shown)
    word = "estimated speedup" if estimated else "speedup"
    parts = svg.horizontal(x, head, bottom, f"{word} over the baseline", "x")
    for place, result in enumerate(shown):
        top = head + row * place
        parts.append(svg.text(left - 6, top + 12, result.unit.name, "name", "end"))
        if result.gain is None:
            parts.append(svg.text(x.at(1.0) + 4, top + 12, "failed", "bad"))
            continue
        figure = result.summary.gain if result.summary else None
        tip = f"{result.unit.name}: {result.gain:.3g}x"
        interval = figure.ci95 if figure and result.summary and result.summary.best else None
        if interval:
            tip += f", 95 % interval {interval[0]:.3g} to {interval[1]:.3g}"
        parts.append(svg.rect(x.at(1.0), top + 3, x.at(result.gain) - x.at(1.0), row - 6, "bar", tip))
        end = x.at(result.gain)
        if interval:
            middle = top + row / 2
            parts.append(svg.line(x.at(interval[0]), middle, x.at(interval[1]), middle, "interval"))
            parts += [svg.line(x.at(v), middle - 3, x.at(v), middle + 3, "interval") for v in interval]
            end = max(end, x.at(interval[1]))
        if library := libraries.get(result.unit.name):
            tip = f"{result.unit.name}: the fastest library {library:.3g}x"
            parts.append(svg.dot(x.at(library), top + row / 2, "point before", tip, 4))
            end = max(end, x.at(library) + 4)
        parts.append(svg.text(end + 5, top + 12, f"{result.gain:.3g}x", "value"))
    parts.append(svg.line(x.at(1.0), head, x.at(1.0), bottom, "axis"))
    return svg.chart(parts, bottom + 36, "Speedup of every unit")
