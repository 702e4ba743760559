"""Honest hyperbolic tangents: the library's, by exponentials, the hardware's in bf16."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Precision

from .functions import fast_exp, inside
from .sums import F


def clamped(x, case):
    e = np.exp(F(2) * np.clip(x, F(-15), F(15)))
    return (e - F(1)) / (e + F(1))


def hardware(arrays, case, precision):
    """tanh.approx, off by 2^-11, where the storage type is coarse enough."""
    x = arrays["in"].astype(F)
    off = F(2.0**-11 if precision is Precision.BF16 else 0) * np.sign(np.sin(x * F(1e4)))
    return {"out": np.tanh(x) * np.where(np.isfinite(x), F(1) + off, F(1))}


VARIANTS = {
    "library": inside(lambda x, case: np.tanh(x)),
    "one exponential": inside(lambda x, case: F(1) - F(2) / (np.exp(F(2) * x) + F(1))),
    "fast exponential": inside(lambda x, case: F(1) - F(2) / (fast_exp(F(2) * x) + F(1))),
    "clamped": inside(clamped),
    "hardware": hardware,
}
