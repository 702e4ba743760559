"""Honest SwiGLUs."""

from __future__ import annotations

import numpy as np

from .functions import fast_exp
from .sums import F


def by(gate):
    def swiglu(arrays, case, precision):
        g, v = arrays["gate"].astype(F), arrays["value"].astype(F)
        return {"out": gate(g, F(case.scalars["beta"]), v)}

    return swiglu


VARIANTS = {
    "division": by(lambda g, beta, v: g / (F(1) + np.exp(-beta * g)) * v),
    "sigmoid": by(lambda g, beta, v: g * (F(1) / (F(1) + np.exp(-(beta * g)))) * v),
    "fast exponential": by(lambda g, beta, v: g / (F(1) + fast_exp(-beta * g)) * v),
    "product first": by(lambda g, beta, v: (g * v) / (F(1) + fast_exp(-beta * g))),
}
