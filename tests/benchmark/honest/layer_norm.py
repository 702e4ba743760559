"""Honest layer normalizations: two passes in any order, Welford's; a root and a division, or a reciprocal root."""

from __future__ import annotations

import numpy as np

from .norms import STATISTICS, two_pass
from .sums import F, split


def by(statistics):
    def norm(arrays, case, precision):
        x, weight, bias = (arrays[name].astype(F) for name in ("in", "weight", "bias"))
        mean, variance = statistics(x)
        deviation = np.sqrt(variance + F(case.scalars["eps"]))
        return {"out": (x - mean[:, None]) / deviation[:, None] * weight + bias}

    return norm


def reciprocal(arrays, case, precision):
    """rsqrtf, multiplied into the weight first."""
    x, weight, bias = (arrays[name].astype(F) for name in ("in", "weight", "bias"))
    mean, variance = two_pass(split)(x)
    inverse = F(1) / np.sqrt(variance + F(case.scalars["eps"]))
    return {"out": (x - mean[:, None]) * (inverse[:, None] * weight) + bias}


VARIANTS = {**{name: by(statistics) for name, statistics in STATISTICS.items()}, "reciprocal root": reciprocal}
