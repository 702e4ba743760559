"""The times of one unit at every size."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from markupsafe import Markup

from ....tools.records import CaseGain
from .. import svg
from ..svg import LEFT, RIGHT, TOP, Axis


def size_chart(cases: Sequence[CaseGain], estimated: bool) -> Markup:
    """Return baseline's and winner's time at every timed size, with the floor where one is known."""
    bottom = 190
    ordered = sorted(cases, key=lambda case: (case.complexity, case.case))
    times = [t for c in ordered for t in (c.baseline_us, c.candidate_us, c.floor_us) if t]
    y = svg.log_axis(times, bottom, TOP)
    x = Axis(0, max(1, len(ordered) - 1), LEFT + 20, RIGHT - 20)
    parts = svg.vertical(y, LEFT, RIGHT, "time (us), estimated" if estimated else "time (us)")
    lines = (("baseline_us", "before", "baseline"), ("candidate_us", "after", "winner"), ("floor_us", "floor", "floor"))
    for name, kind, word in lines:
        places = [
            (x.at(n), y.at(v), f"{word} {v:.4g} us at {c.case}")
            for n, c in enumerate(ordered)
            if (v := getattr(c, name))
        ]
        if not places:
            continue
        parts.append(svg.path([(px, py) for px, py, _ in places], f"curve {kind}"))
        if kind != "floor":
            parts += [svg.dot(px, py, f"point {kind}", tip, 3.5) for px, py, tip in places]
    for n, case in list(enumerate(ordered))[:: ceil(len(ordered) / 8)]:
        parts.append(svg.text(x.at(n), bottom + 14, svg.number(case.complexity), "tick", "middle"))
    parts.append(svg.text((LEFT + RIGHT) / 2, bottom + 30, "complexity of the size", "label", "middle"))
    return svg.chart(parts, bottom + 36, "Time at every size")
