"""Functions as fast kernels compute them, in float."""

from __future__ import annotations

import numpy as np

from .sums import F


def fast_exp(x: np.ndarray) -> np.ndarray:
    """__expf: a power of two whose exponent was rounded to float."""
    return np.exp2(x * F(np.log2(np.e)))


def fast_log(x: np.ndarray) -> np.ndarray:
    """__logf: a logarithm to base two, off by 2^-22, times ln 2."""
    return (np.log2(x) + F(2.0**-22.5) * np.sign(np.sin(x * F(1e9)))) * F(np.log(2))


def inside(compute):
    """Make a variant from a function of the input `in`, in float."""
    return lambda arrays, case, precision: {"out": compute(arrays["in"].astype(F), case)}


def scalars(case):
    """Return the scalars of a case in float, by name."""
    return {name: F(value) for name, value in case.scalars.items()}
