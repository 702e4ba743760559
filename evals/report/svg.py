"""Parts of a chart as SVG text. Colours come from the page's style sheet, in light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH = 420
"""Of every chart, in its own units: about a phone's width, so that letters are legible there."""

LEFT, RIGHT, TOP = 44, WIDTH - 12, 26
"""Where most charts begin and end, with room for the ticks at the left and a title above."""


@dataclass(frozen=True)
class Axis:
    """Maps values to places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value; one beyond the axis is put at its end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values on the axis."""
        if not self.log:
            step = _round_step((self.high - self.low) / most)
            first = math.ceil(self.low / step - 1e-9)
            return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            found = [d * 10.0**k for k in decades for d in digits if self.low <= d * 10.0**k <= self.high * 1.0001]
            if len(found) <= most:
                return found
        return found[:: math.ceil(len(found) / most)]


def log_axis(values: Sequence[float], start: float, end: float, *, least: float = 2.0) -> Axis:
    """Return a logarithmic axis with some room around positive values, over a factor of `least` at least."""
    low, high = min(values) / 1.15, max(values) * 1.15
    if high / low < least:
        middle = math.sqrt(high * low)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
    return Axis(low, high, start, end, log=True)


def number(value: float) -> str:
    """Return a number as short as it can be read."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a line of the style sheet's class `kind`."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start", turned: float = 0.0) -> str:
    """Return a text, `turned` by degrees, clockwise."""
    turn = f' transform="rotate({turned:.1f} {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{turn}>{escape(content)}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """Return a bar; `tip` is shown when it is pointed at."""
    size = f'width="{max(width, 0.5):.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="2" class="{kind}"{_tip(tip)}/>'


def dot(x: float, y: float, kind: str, tip: str = "", radius: float = 4.0) -> str:
    """Return a point."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}"{_tip(tip)}/>'


def path(places: Sequence[tuple[float, float]], kind: str, *, steps: bool = False) -> str:
    """Return a line through places; with `steps` each goes level to the next place first."""
    parts = [f"M{places[0][0]:.1f} {places[0][1]:.1f}"]
    for x, y in places[1:]:
        parts.append(f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}")
    return f'<path d="{"".join(parts)}" class="{kind}"/>'


def band(x1: float, top1: float, x2: float, top2: float, height: float, kind: str, tip: str = "") -> str:
    """Return a band of equal height that flows from one place to another."""
    middle = (x1 + x2) / 2
    there = f"M{x1:.1f} {top1:.1f}C{middle:.1f} {top1:.1f} {middle:.1f} {top2:.1f} {x2:.1f} {top2:.1f}"
    low1, low2 = top1 + height, top2 + height
    back = f"V{low2:.1f}C{middle:.1f} {low2:.1f} {middle:.1f} {low1:.1f} {x1:.1f} {low1:.1f}Z"
    return f'<path d="{there}{back}" class="{kind}"{_tip(tip)}/>'


def horizontal(axis: Axis, top: float, bottom: float, title: str, unit: str = "") -> list[str]:
    """Return grid, ticks and title of an axis along the bottom."""
    parts = []
    for value in axis.ticks():
        parts.append(line(axis.at(value), top, axis.at(value), bottom, "grid"))
        parts.append(text(axis.at(value), bottom + 14, f"{number(value)}{unit}", "tick", "middle"))
    return [*parts, text((axis.start + axis.end) / 2, bottom + 30, title, "label", "middle")]


def vertical(axis: Axis, left: float, right: float, title: str, unit: str = "") -> list[str]:
    """Return grid, ticks and title (above) of an axis along the left."""
    parts = []
    for value in axis.ticks():
        parts.append(line(left, axis.at(value), right, axis.at(value), "grid"))
        parts.append(text(left - 5, axis.at(value) + 3.5, f"{number(value)}{unit}", "tick", "end"))
    return [*parts, text(4, min(axis.start, axis.end) - 8, title, "label")]


def chart(parts: Sequence[str], height: float, label: str) -> Markup:
    """Return a whole chart; `label` says to those who can't see it what it shows."""
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
    return Markup(head + "".join(parts) + "</svg>")


def _tip(tip: str) -> str:
    return f' data-tip="{escape(tip)}"' if tip else ""


def _round_step(raw: float) -> float:
    size = 10.0 ** math.floor(math.log10(raw))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
