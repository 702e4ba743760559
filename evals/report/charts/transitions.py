"""How bottlenecks moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

from .. import svg
from ..svg import WIDTH

CLASSES: Final = ("compute", "bandwidth", "latency")


def transition_chart(moves: Mapping[str, int]) -> Markup:
    """Return how many units went from which class of bottleneck to which. `moves`: `class → class` with its count."""
    height, gap, left, right, top = 170.0, 10.0, 112, WIDTH - 112, 40
    pairs = {tuple(move.split(" → ")): count for move, count in moves.items()}
    total = sum(pairs.values())
    scale = (height - gap * (len(CLASSES) - 1)) / total
    sums = [Counter[str](), Counter[str]()]
    for (before, after), count in pairs.items():
        sums[0][before] += count
        sums[1][after] += count
    parts, starts = [], []
    for side, (place, anchor) in enumerate(((left, "end"), (right, "start"))):
        at, start = float(top), {}
        for name in CLASSES:
            tall = sums[side][name] * scale
            start[name] = at
            if tall:
                edge = place - 10 if side == 0 else place
                parts.append(svg.rect(edge, at, 10, tall, f"class-{name}", f"{name}: {sums[side][name]}"))
                words = f"{name} {sums[side][name]}"
                parts.append(
                    svg.text(place - 16 if side == 0 else place + 16, at + tall / 2 + 4, words, "name", anchor)
                )
            at += tall + gap
        starts.append(start)
    for before in CLASSES:
        for after in CLASSES:
            if count := pairs.get((before, after), 0):
                tall = count * scale
                tip = f"{count} stayed {before}" if before == after else f"{count} went from {before} to {after}"
                parts.append(
                    svg.band(left, starts[0][before], right, starts[1][after], tall, f"flow class-{before}", tip)
                )
                starts[0][before] += tall
                starts[1][after] += tall
    parts += [svg.text(left, top - 14, "baseline", "label", "end"), svg.text(right, top - 14, "best kernel", "label")]
    return svg.chart(parts, top + height + 10, "Bottlenecks before and after")
