"""Two suites, unit by unit."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from .. import svg
from ..svg import WIDTH


def ratio_chart(ratios: Mapping[str, float], before: str, after: str) -> Markup:
    """Return how many times faster every unit is in one suite than in another."""
    left, row, top = 176, 17, 6
    shown = sorted(ratios.items(), key=lambda item: -item[1])
    x = svg.log_axis([0.8, 1.25, *ratios.values()], left, WIDTH - 46)
    bottom = top + row * len(shown)
    parts = svg.horizontal(x, top, bottom, f"{after} ÷ {before}", "x")
    for place, (name, ratio) in enumerate(shown):
        at = top + row * place
        parts.append(svg.text(left - 6, at + 12, name, "name", "end"))
        start, end = sorted((x.at(1.0), x.at(ratio)))
        kind = "bar better" if ratio >= 1.0 else "bar worse"
        parts.append(svg.rect(start, at + 3, end - start, row - 6, kind, f"{name}: {ratio:.3g}x"))
        parts.append(svg.text(max(x.at(ratio), x.at(1.0)) + 5, at + 12, f"{ratio:.3g}x", "value"))
    parts.append(svg.line(x.at(1.0), top, x.at(1.0), bottom, "axis"))
    return svg.chart(parts, bottom + 36, f"{after} against {before}")
