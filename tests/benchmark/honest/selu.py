"""Honest SELUs: constants multiplied first or last, expm1 or a difference, a fast exponential."""

from __future__ import annotations

import numpy as np

from .functions import fast_exp, inside, scalars
from .sums import F


def by(below):
    def selu(x, case):
        s = scalars(case)
        return np.where(x < 0, below(np.minimum(x, F(0)), s["alpha"], s["lambda"]), s["lambda"] * x)

    return inside(selu)


VARIANTS = {
    "expm1": by(lambda x, alpha, scale: scale * (alpha * np.expm1(x))),
    "constants first": by(lambda x, alpha, scale: (scale * alpha) * (np.exp(x) - F(1))),
    "fast exponential": by(lambda x, alpha, scale: scale * (alpha * (fast_exp(x) - F(1)))),
    "fused": by(lambda x, alpha, scale: (np.float64(scale * alpha) * np.exp(x) - scale * alpha).astype(F)),
}
