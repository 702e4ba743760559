"""Otsu's threshold: where to cut a list of values so that the two sides differ most."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import Record


class Bin(Record):
    """One bar of a histogram: values in [low, high); the last bar includes its upper end."""

    low: float
    high: float
    count: int


class OtsuThreshold(Record):
    """The cut, and how well it separates."""

    threshold: float
    """Values above it are high. Halfway between the two neighbours of the cut."""
    separation: float
    """Variance between the two classes ÷ variance of all: 0 (none) to 1 (two points)."""
    below: int
    above: int
    histogram: tuple[Bin, ...]


def histogram(values: Sequence[float], bins: int = 20, low: float = 0.0, high: float = 100.0) -> tuple[Bin, ...]:
    """Count values in bars of equal width; values outside the range count in the first or last bar.

    Raises:
        ValueError: no bars, or an empty range.
    """
    if bins < 1 or not low < high:
        raise ValueError(f"histogram of {bins} bars over {low}…{high}: at least one bar, low below high")
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, max(0, int((value - low) / (high - low) * bins)))] += 1
    width = (high - low) / bins
    return tuple(Bin(low=low + i * width, high=low + (i + 1) * width, count=count) for i, count in enumerate(counts))


def otsu(values: Sequence[float], bins: int = 20) -> OtsuThreshold:
    """Return the threshold that maximises the variance between the two classes, over every cut between two values.

    Works on the values themselves, not on bars, so that no bar width biases the cut.

    Raises:
        ValueError: fewer than two different values.
    """
    ordered = sorted(values)
    if len(ordered) < 2 or ordered[0] == ordered[-1]:
        raise ValueError("Otsu's method needs at least two different values")
    count, mean = len(ordered), sum(ordered) / len(ordered)
    total = sum((v - mean) ** 2 for v in ordered) / count
    best, cut, running = -1.0, 0, 0.0
    for index in range(1, count):
        running += ordered[index - 1]
        if ordered[index] == ordered[index - 1]:
            continue
        below, above = running / index, (count * mean - running) / (count - index)
        between = index * (count - index) / count**2 * (below - above) ** 2
        if between > best:
            best, cut = between, index
    return OtsuThreshold(
        threshold=(ordered[cut - 1] + ordered[cut]) / 2,
        separation=best / total,
        below=cut,
        above=count - cut,
        histogram=histogram(ordered, bins),
    )
