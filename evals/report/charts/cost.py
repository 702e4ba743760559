"""What a gain cost."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from .. import svg
from ..svg import LEFT, RIGHT, TOP


def cost_chart(points: Sequence[tuple[str, float, float]], cost: str, word: str, *, named: bool = False) -> Markup:
    """Return gain against cost: (name, cost, gain) each, with its name beside it if `named`."""
    bottom = 210
    x = svg.log_axis([c for _, c, _ in points], LEFT, RIGHT)
    y = svg.log_axis([1.0, *(g for _, _, g in points)], bottom, TOP)
    parts = svg.vertical(y, LEFT, RIGHT, word, "x") + svg.horizontal(x, TOP, bottom, cost)
    for name, spent, gain in points:
        parts.append(
            svg.dot(x.at(spent), y.at(gain), "point series0", f"{name}: {gain:.3g}x for {svg.number(spent)} {cost}")
        )
    if named:
        for name, spent, gain in points:
            near = x.at(spent) > (LEFT + RIGHT) / 2
            parts.append(
                svg.text(x.at(spent) + (-7 if near else 7), y.at(gain) - 6, name, "name", "end" if near else "start")
            )
    return svg.chart(parts, bottom + 36, f"Gain against {cost}")
