"""How results become scores: in one place, in 64 bits, and with failures counted as failures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def weighted_speedup(complexities: Sequence[int], speedups: Sequence[float]) -> float:
    """Return the paper's P = Σ T(N)·S(N) / Σ T(N) over the sizes N of one unit.

    Raises:
        ValueError: no sizes, lists of unequal length, or a complexity that isn't positive.
    """
    if len(complexities) != len(speedups) or not complexities:
        raise ValueError(f"{len(complexities)} complexities for {len(speedups)} speedups")
    if min(complexities) <= 0:
        raise ValueError(f"complexity {min(complexities)} is not positive")
    total = sum(complexities)
    return math.fsum(t / total * s for t, s in zip(complexities, speedups, strict=True))


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers.

    Raises:
        ValueError: no numbers, or one that isn't positive.
    """
    if not values or min(values) <= 0:
        raise ValueError(f"no geometric mean of {list(values)}")
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def efficiency(floor_us: float, time_us: float) -> float:
    """Return floor ÷ time: how much of what the hardware allows is reached, 1 at most if both are right."""
    return floor_us / time_us


def tau_curve(speedups: Sequence[float | None], thresholds: Sequence[float]) -> tuple[float, ...]:
    """Return, per threshold τ, the share of all units with a speedup of at least τ. None is a failure: below any τ."""
    return tuple(sum(s is not None and s >= t for s in speedups) / len(speedups) for t in thresholds)


@dataclass(frozen=True)
class Score:
    """Many units in a few numbers. No number hides the failures: read `solved` of `units` with it."""

    units: int
    solved: int
    """Units with a verified result, be it no faster than the baseline."""
    geomean_solved: float | None
    """Geometric mean of the speedups of the solved units; None if there are none."""
    geomean_all: float
    """The same over all units, a failure counted as what its user is left with: the baseline, 1.0."""
    faster: float
    """Share of all units with a speedup above 1."""


def score(speedups: Sequence[float | None]) -> Score:
    """Summarise the speedups of units; None is a failure.

    Raises:
        ValueError: no units.
    """
    if not speedups:
        raise ValueError("no units to score")
    solved = [s for s in speedups if s is not None]
    return Score(
        units=len(speedups),
        solved=len(solved),
        geomean_solved=geometric_mean(solved) if solved else None,
        geomean_all=geometric_mean([1.0 if s is None else s for s in speedups]),
        faster=sum(s > 1.0 for s in solved) / len(speedups),
    )
