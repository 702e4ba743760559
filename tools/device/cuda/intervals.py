"""Values with 95 % intervals from repeated measurements.

What was seen on an H200 decides the method. Calls within one process scatter by some percent, and their mean is known
well after some dozen. But each process has an offset of its own, up to 0.2 us per launch, that lasts as long as it
lives: a process timed twice as often is not known better. So the process is the unit of replication: each side is run
in several processes, a process counts as one number, and the interval is Welch's, from the scatter between processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor, log, sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING, Final

from ...records import Interval

if TYPE_CHECKING:
    import numpy as np

_DRAWS: Final = 1000
_TRIMMED: Final = 0.1
_T_975: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom."""


def trimmed_mean(samples: Sequence[float]) -> float:
    """Return the mean without the lowest and the highest tenth.

    Not the median: times of short kernels fall on two or three values, and the median of such a mixture jumps.
    """
    ordered = sorted(samples)
    cut = int(len(ordered) * _TRIMMED)
    return fmean(ordered[cut : len(ordered) - cut])


Parts = Sequence[Sequence[float]]
"""Logarithms of times that add up to a mean: each part has one number per process."""


def ratio_interval(baseline: Parts, candidate: Parts, resolution: float = 0.0) -> Interval:
    """Return baseline ÷ candidate with Welch's interval, the parts' errors independent of each other.

    `resolution`: what the clock can't tell apart, as a share of the time: the interval is never narrower on either
    side. Of the scatter of a part with a single process nothing is known, and it adds nothing to the interval.
    """
    middle = sum(map(fmean, baseline)) - sum(map(fmean, candidate))
    parts = [(variance(p) / len(p), len(p) - 1) for p in (*baseline, *candidate) if len(p) > 1]
    spread = sum(part for part, _ in parts)
    half = resolution
    if spread > 0:
        freedom = floor(spread**2 / sum(part**2 / n for part, n in parts) + 1e-9)
        half = max(half, _T_975[min(max(freedom, 1), len(_T_975)) - 1] * sqrt(spread))
    return Interval(value=exp(middle), low=exp(middle - half), high=exp(middle + half))


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of one number per process with Student's interval."""
    middle, half = fmean(values), 0.0
    if len(values) > 1:
        half = _T_975[min(len(values) - 1, len(_T_975)) - 1] * sqrt(variance(values) / len(values))
    return Interval(value=middle, low=middle - half, high=middle + half)


def median_interval(samples: Sequence[float], rng: np.random.Generator) -> Interval:
    """Return the median of the samples of one process with its bootstrap interval."""
    import numpy as np

    array, value = np.asarray(samples, dtype=np.float64), median(samples)
    draws = np.median(array[rng.integers(0, len(array), (_DRAWS, len(array)))], axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(value=value, low=min(value, float(low)), high=max(value, float(high)))


def log_mean(values: Sequence[float]) -> float:
    """Return the mean of the logarithms."""
    return fmean(log(value) for value in values)
