"""What each round gained."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from ....benchmark.scoring import geometric_mean
from .. import svg
from ..story import Story
from ..svg import LEFT, RIGHT, TOP, Axis


def round_chart(stories: Sequence[Story]) -> Markup:
    """Return the geometric mean over units of the best kernel after each round."""
    bottom = 190
    rounds = max([1, *(r.number for story in stories for r in story.rounds)])
    means = [geometric_mean([story.best_after(number) for story in stories]) for number in range(rounds + 1)]
    x = Axis(0, rounds, LEFT, RIGHT)
    y = svg.log_axis([1.0, *means], bottom, TOP)
    parts = svg.vertical(y, LEFT, RIGHT, "geometric mean over the units", "x")
    for number in range(rounds + 1):
        parts.append(svg.text(x.at(number), bottom + 14, str(number), "tick", "middle"))
    parts.append(svg.text((LEFT + RIGHT) / 2, bottom + 30, "after round", "label", "middle"))
    places = [(x.at(number), y.at(mean)) for number, mean in enumerate(means)]
    parts.append(svg.path(places, "curve series0"))
    parts += [
        svg.dot(px, py, "point series0", f"after round {n}: {m:.3g}x")
        for n, ((px, py), m) in enumerate(zip(places, means, strict=True))
    ]
    return svg.chart(parts, bottom + 36, "Gain after each round")
