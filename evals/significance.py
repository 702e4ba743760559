"""Whether one suite is faster than another: paired over the units that both have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from ..tools.records import Interval, Record

TIE: Final = 1.01
"""A unit whose gains differ by less than this factor is a tie."""

RESAMPLES: Final = 10_000


class Comparison(Record):
    """The second suite against the first. A unit that failed counts as its baseline, 1.0."""

    first: str
    second: str
    ratios: Mapping[str, float]
    """Unit → gain in the second ÷ gain in the first."""
    ratio: Interval
    """Geometric mean of the ratios, with the 95 % interval of a paired bootstrap over the units."""
    better: int
    worse: int
    ties: int
    p_value: float
    """Of the two-sided sign test: the chance that units which are no ties split as unevenly if neither is better."""

    @property
    def significant(self) -> bool:
        """Both say so: the interval leaves out 1, and p < 0.05."""
        return not self.ratio.low <= 1.0 <= self.ratio.high and self.p_value < 0.05


def compare(
    first: str, before: Mapping[str, float | None], second: str, after: Mapping[str, float | None]
) -> Comparison:
    """Return the comparison of two suites' gains by unit; None is a failure.

    Raises:
        ValueError: they have no unit in common.
    """
    units = [unit for unit in before if unit in after]
    if not units:
        raise ValueError(f"{first} and {second} have no unit in common")
    ratios = {unit: (after[unit] or 1.0) / (before[unit] or 1.0) for unit in units}
    logs = np.log(list(ratios.values()))
    draws = np.random.default_rng(0).integers(0, len(logs), (RESAMPLES, len(logs)))
    low, high = np.quantile(logs[draws].mean(axis=1), [0.025, 0.975])
    better = sum(ratio > TIE for ratio in ratios.values())
    worse = sum(ratio < 1 / TIE for ratio in ratios.values())
    return Comparison(
        first=first,
        second=second,
        ratios=ratios,
        ratio=Interval(value=math.exp(logs.mean()), low=math.exp(low), high=math.exp(high)),
        better=better,
        worse=worse,
        ties=len(units) - better - worse,
        p_value=sign_test(better, worse),
    )


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided p-value of a split into `better` and `worse` if each is a fair coin's throw."""
    count = better + worse
    splits = sum(math.comb(count, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * splits / (1 << count))


def sentence(found: Comparison) -> str:
    """Return the comparison as a person says it."""
    ratio = found.ratio
    verdict = "significantly " if found.significant else "not significantly "
    word = "faster" if ratio.value >= 1 else "slower"
    times = ratio.value if ratio.value >= 1 else 1 / ratio.value
    return (
        f"{found.second} is {times:.3g}x {word} than {found.first} over {len(found.ratios)} units, {verdict}so: "
        f"ratio {ratio.value:.3g} (95 % interval {ratio.low:.3g} to {ratio.high:.3g}); {found.better} units better, "
        f"{found.worse} worse, {found.ties} ties; sign test p = {found.p_value:.2g}"
    )
