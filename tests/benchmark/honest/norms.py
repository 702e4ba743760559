"""Honest means and variances along the last axis, in float."""

from __future__ import annotations

import numpy as np

from .sums import SUMS, F, pairwise


def two_pass(add):
    """The mean, then the squared deviations from it."""

    def statistics(x):
        n = F(x.shape[-1])
        mean = add(x) / n
        return mean, add((x - mean[..., None]) ** 2) / n

    return statistics


def welford(x):
    """One element after the other, mean and squared deviations kept up to date."""
    mean, squares = np.zeros(x.shape[:-1], F), np.zeros(x.shape[:-1], F)
    for i in range(x.shape[-1]):
        delta = x[..., i] - mean
        mean = mean + delta / F(i + 1)
        squares = squares + delta * (x[..., i] - mean)
    return mean, squares / F(x.shape[-1])


def shifted(x):
    """One pass over x − x[0]: sum and sum of squares."""
    n, moved = F(x.shape[-1]), x - x[..., :1]
    mean = pairwise(moved) / n
    return mean + x[..., 0], np.maximum(pairwise(moved**2) / n - mean**2, F(0))


STATISTICS = {**{name: two_pass(add) for name, add in SUMS.items()}, "welford": welford}
