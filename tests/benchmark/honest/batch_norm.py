"""Honest batch normalizations: two passes in any order, Welford's."""

from __future__ import annotations

import numpy as np

from .norms import STATISTICS
from .sums import F


def by(statistics):
    def norm(arrays, case, precision):
        x, gamma, beta = (arrays[name].astype(F) for name in ("in", "gamma", "beta"))
        mean, variance = statistics(np.ascontiguousarray(x.T))
        return {"out": gamma * ((x - mean) / np.sqrt(variance + F(case.scalars["eps"]))) + beta}

    return norm


VARIANTS = {name: by(statistics) for name, statistics in STATISTICS.items()}
