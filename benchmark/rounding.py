"""Error bounds from a rounding model: what an honest kernel may lose, and no more. docs/error_bounds.md derives them.

The model: arithmetic in float (unit 2^-24), sums in any order and any grouping, one final rounding to the output type.
A task adds what else it allows: functions with a few units of error, intermediates rounded to the storage type.
Every bound is twice the model's largest error, so an honest result uses at most half of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contract import DType

Float = NDArray[np.float64]

UNIT = 2.0**-24
"""Unit roundoff of float, in which every kernel accumulates."""
TINY = 2.0**-126
"""Smallest normal float: below it a kernel may flush to zero."""
_LAMBDA = 4.0
"""Width of the probabilistic bound for long sums, in standard deviations and more (Higham and Mary, 2019)."""
_SAFETY = 2.0


def unit_roundoff(dtype: DType) -> float:
    """Return the largest relative error of rounding to a concrete floating type."""
    return {DType.F32: 2.0**-24, DType.BF16: 2.0**-8}[dtype]


def growth(terms: NDArray[Any] | float) -> NDArray[np.float64]:
    """Return the largest relative error, in multiples of 1, of a float sum of this many terms, in any order.

    n·u holds always; λ·√n·u holds for rounding errors that don't conspire, and is the smaller from 17 terms up.
    """
    n = np.asarray(terms, dtype=np.float64)
    return np.minimum(n, _LAMBDA * np.sqrt(n)) * UNIT


def partial_sums(total: Float, absolute: Float, squares: Float, *, exchangeable: bool) -> Float:
    """Return the largest size that partial sums reach, from Σt, Σ|t| and Σt².

    Σ|t| in general. Where the terms are drawn independently (`inputs.EXCHANGEABLE`) and the order doesn't depend on
    their values, every partial sum is its share of the total plus a random walk, which is far less if signs are mixed.
    """
    if not exchangeable:
        return absolute
    return np.minimum(absolute, np.abs(total) + _LAMBDA * np.sqrt(squares))


def sum_error(magnitude: NDArray[Any] | float, terms: NDArray[Any] | float) -> Float:
    """Return the error of summing `terms` rounded products whose absolute values add up to `magnitude`."""
    return np.asarray((UNIT + growth(terms)) * magnitude, dtype=np.float64)


def exp_error(argument: NDArray[Any] | float) -> Float:
    """Return the relative error of e^argument in float, by expf or by the fast __expf.

    The fast intrinsic errs by 2 + 1.173·|x| units in the last place (CUDA C++ Programming Guide, intrinsic functions);
    another half unit of the argument is for its own rounding. Beyond 800 the result is 0 or infinite anyway.
    """
    return np.asarray((4.0 + 3.4 * np.minimum(np.abs(argument), 800.0)) * UNIT, dtype=np.float64)


def sigmoid_error(argument: NDArray[Any], sigmoid: NDArray[Any]) -> Float:
    """Return the relative error of 1/(1 + e^-argument) in float; `sigmoid` is its value. A fast division included."""
    return np.asarray((1.0 - sigmoid) * exp_error(argument) + 5.0 * UNIT, dtype=np.float64)


def half_spacing(value: NDArray[Any], dtype: DType) -> Float:
    """Return the largest error of rounding a number of this size to a concrete floating type; 0 for whole numbers."""
    if dtype is DType.I32:
        return np.zeros(np.shape(value))
    with np.errstate(invalid="ignore", divide="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(value), TINY)))
    return np.where(np.isfinite(value), np.exp2(np.where(np.isfinite(exponent), exponent, 0.0)), 0.0) * unit_roundoff(
        dtype
    )


def bound(value: NDArray[Any], error: NDArray[Any] | float, dtype: DType) -> Float:
    """Return the largest legal |output − value|: twice (error before the last rounding + that rounding).

    `value` and `error` in the output's shape, `error` absolute; `dtype` is the output's concrete type.
    """
    error = np.where(np.isfinite(value), error, 0.0)
    return _SAFETY * (error + half_spacing(np.abs(value) + error, dtype) + TINY)
