"""How many units reach which speedup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from ....benchmark.scoring import tau_curve
from .. import svg
from ..svg import LEFT, RIGHT, TOP, Axis


def tau_chart(curves: Mapping[str, Sequence[float | None]]) -> Markup:
    """Return the share of units with at least a speedup τ, one line for each name; None is a failure."""
    bottom = 210
    best = max([s for curve in curves.values() for s in curve if s is not None] or [1.0])
    x = Axis(1.0, max(2.0, best * 1.1), LEFT, RIGHT, log=True)
    y = Axis(0.0, 1.0, bottom, TOP)
    parts = svg.horizontal(x, TOP, bottom, "τ (speedup of at least)", "x")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(svg.line(LEFT, y.at(share), RIGHT, y.at(share), "grid"))
        parts.append(svg.text(LEFT - 5, y.at(share) + 3.5, f"{share:.0%}", "tick", "end"))
    parts.append(svg.text(4, TOP - 10, "share of all units", "label"))
    for number, (name, curve) in enumerate(curves.items()):
        taus = sorted({1.0, x.high, *(s for s in curve if s is not None and s > 1.0)})
        shares = tau_curve(curve, taus)
        # The share at τ holds down from τ: each step falls just after it.
        places = [(x.at(1.0), y.at(shares[0]))]
        for (before, tau), share in zip(pairwise(taus), shares[1:], strict=True):
            places += [(x.at(before), y.at(share)), (x.at(tau), y.at(share))]
        parts.append(svg.path(places, f"curve series{number % 6}"))
        for tau, share in zip(taus[:-1], shares, strict=False):
            parts.append(
                svg.dot(x.at(tau), y.at(share), f"point series{number % 6}", f"{name}: {share:.0%} ≥ {tau:.3g}x", 2.5)
            )
    return svg.chart(parts, bottom + 36, "Share of units by speedup")
