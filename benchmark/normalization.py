"""What the normalizations have in common: (x − mean)/√(variance + eps), then a weight and a bias, with their errors."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import inputs, rounding
from .cases import cases
from .contract import Argument, DType, Precision, array_in, array_out, scalar, size
from .rounding import UNIT, growth, partial_sums
from .task import Case, Drawn, Expected

Float = NDArray[np.float64]

ROWS: Final[tuple[Argument, ...]] = (
    array_out("out", "rows", "N"),
    array_in("in", "rows", "N"),
    array_in("weight", "N"),
    array_in("bias", "N"),
    scalar("eps"),
    size("rows"),
    size("N"),
)
"""Arguments of a normalization of rows."""
CASES_OF_ROWS: Final[tuple[Case, ...]] = (
    *cases("small", scalars={"eps": 1e-5}, rows=1, N=[1, 2, 3, 31, 33, 255, 257, 1000, 1025]),
    *cases("small", scalars={"eps": 1e-5}, rows=[2, 33], N=[1, 7, 64, 129]),
    *cases("small", "normal", scalars={"eps": 1e-5}, rows=5, N=[32, 2049]),
    *cases("small", "large_mean", scalars={"eps": 1e-5}, rows=3, N=[6, 511]),
    *cases("small", "wide_range", scalars={"eps": 1e-5}, rows=4, N=200),
    *cases("small", "ties", scalars={"eps": 1e-3}, rows=7, N=12),
    *cases("small", scalars={"eps": 0.1}, rows=6, N=96),
    *cases("paper", scalars={"eps": 1e-5}, rows=1, N=[64, 128, 256, 512, 1024]),
    *cases("large", scalars={"eps": 1e-5}, rows=2**13, N=2**12),
    *cases("large", scalars={"eps": 1e-5}, rows=2**16, N=2**10),
    *cases("hidden", "normal", scalars={"eps": [1e-5, 0.1]}, rows=[1, 130], N=[5, 769]),
    *cases("hidden", "large_mean", scalars={"eps": 1e-6}, rows=9, N=4099),
    *cases("hidden", scalars={"eps": 1e-5}, rows=1, N=50_257),
)


def draw_rows(case: Case, rng: Generator) -> Drawn:
    """Draw the inputs of a normalization of rows."""
    rows, N = case.sizes["rows"], case.sizes["N"]
    return {
        "in": inputs.values(case.distribution, (rows, N), rng),
        "weight": inputs.uniform((N,), rng),
        "bias": inputs.uniform((N,), rng),
    }


def weighted(normalized: Float, error: Float, weight: Float, bias: Float, precision: Precision) -> Expected:
    """Return normalized·weight + bias from the normalized values and their largest error; three more roundings."""
    scaled = normalized * weight
    value = scaled + bias
    total = np.abs(weight) * error + UNIT * (np.abs(scaled) + np.abs(value) + np.abs(bias))
    return Expected(value, rounding.bound(value, total, DType.STORAGE.resolve(precision)))


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
