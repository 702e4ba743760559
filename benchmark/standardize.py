"""The heart of batch and layer normalization: (x − mean)/√(variance + eps), with its error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rounding import UNIT, growth, partial_sums

Float = NDArray[np.float64]


def standardize(x: Float, eps: float, axis: int, *, exchangeable: bool) -> tuple[Float, Float]:
    """Return (x − mean)/√(variance + eps) along an axis, and its largest error in float.

    The model is two passes (or as good: Welford's, a shifted sum): the mean with the error of a sum, then the sum of
    squared deviations from it. E[x²] − mean² is not as good: its error grows with mean²/variance.
    """
    terms = x.shape[axis]
    mean = np.mean(x, axis=axis, keepdims=True)
    deviation = x - mean
    variance = np.mean(deviation**2, axis=axis, keepdims=True)
    absolute, squares = np.sum(np.abs(x), axis=axis, keepdims=True), np.sum(x**2, axis=axis, keepdims=True)
    reached = partial_sums(mean * terms, absolute, squares, exchangeable=exchangeable) / terms
    of_mean = growth(terms) * reached + 2 * UNIT * np.abs(mean)
    of_variance = (growth(terms) + 5 * UNIT) * variance + of_mean**2 + 2 * UNIT * of_mean * np.sqrt(variance)
    inverse = 1.0 / np.sqrt(variance + eps)
    value = deviation * inverse
    # Half of the relative error of variance + eps; the root and the division or rsqrtf err by 6 units together.
    relative = 0.5 * of_variance * inverse**2 + 6 * UNIT
    return value, (of_mean + UNIT * np.abs(deviation)) * inverse + np.abs(value) * relative
