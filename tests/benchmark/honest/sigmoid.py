"""Honest sigmoids."""

from __future__ import annotations

import numpy as np

from .functions import fast_exp, inside
from .sums import F


def two_sided(x, case):
    """An exponential that can't overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, F(1)) / (F(1) + e)


VARIANTS = {
    "plain": inside(lambda x, case: F(1) / (F(1) + np.exp(-x))),
    "fast exponential": inside(lambda x, case: F(1) / (F(1) + fast_exp(-x))),
    "reciprocal a unit off": inside(lambda x, case: np.nextafter(F(1) / (F(1) + fast_exp(-x)), F(2))),
    "two-sided": inside(two_sided),
}
