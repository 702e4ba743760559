"""Convolution of an image with a filter: valid cross-correlation in two dimensions, one channel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

Float = NDArray[np.float64]

CONTRACT = Contract(
    entry="conv_2d",
    arguments=(
        array_in("input", "in_rows", "in_cols"),
        array_in("kernel", "k_rows", "k_cols"),
        array_out("output", "in_rows - k_rows + 1", "in_cols - k_cols + 1"),
        size("in_rows"),
        size("in_cols"),
        size("k_rows", "at most in_rows"),
        size("k_cols", "at most in_cols"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    image, kernel = (a.extents(case.sizes) for a in CONTRACT.inputs)
    taps = kernel[0] * kernel[1]
    flat, pixels = inputs.factors(case.distribution, (taps,), image, rng, terms=taps)
    return {"input": pixels, "kernel": flat.reshape(kernel)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    rows = np.arange(case.sizes["in_rows"] - case.sizes["k_rows"] + 1)
    return {"output": _expected(arrays, rows, case, precision)}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    height, width = CONTRACT.outputs[0].extents(case.sizes)
    rows = sampling.rows(height, rng)
    return {"output": _expected(arrays, rows, case, precision).at(sampling.whole_rows(rows, width))}


def _expected(arrays: Arrays, rows: NDArray[np.int64], case: Case, precision: Precision) -> Expected:
    """Return these rows of the output, a block of rows at a time so that it stays in the cache."""
    x, w = arrays["input"], arrays["kernel"]
    blocks = np.array_split(rows, -(-rows.size * x.shape[1] // 2**15))

    def convolve(function: Callable[[Float], Float]) -> Float:
        return np.concatenate(
            [_rows_of(function(x[block[0] : block[-1] + len(w)]), function(w), block - block[0]) for block in blocks]
        )

    value = convolve(lambda part: part)
    if case.exact:
        return Expected(value)
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(value, convolve(np.abs), convolve(np.square), exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=w.size)
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


def _rows_of(x: Float, w: Float, rows: NDArray[np.int64]) -> Float:
    width = x.shape[1] - w.shape[1] + 1
    total = np.zeros((rows.size, width))
    for i, row_of_taps in enumerate(w):
        below = x[rows + i]
        for j, tap in enumerate(row_of_taps):
            total += tap * below[:, j : j + width]
    return total


def _square(set: str, sides: list[int], filters: list[int]) -> tuple[Case, ...]:
    return tuple(
        case
        for side in sides
        for taps in filters
        for case in cases(set, in_rows=side, in_cols=side, k_rows=taps, k_cols=taps)
    )


TASK = Task(
    name="conv_2d",
    category="convolution and pooling",
    formula="output[r, c] = Σ_{i, j} input[r + i, c + j]·kernel[i, j]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, in_rows=[7, 33], in_cols=[5, 50], k_rows=[1, 4], k_cols=[2, 5]),
        *cases("small", "integers", exact=True, in_rows=34, in_cols=[35, 65], k_rows=[9, 33], k_cols=[8, 34]),
        *cases("small", "integers", exact=True, in_rows=4, in_cols=40, k_rows=2, k_cols=33),
        *cases("small", "integers", exact=True, in_rows=36, in_cols=5, k_rows=34, k_cols=3),
        *cases("small", "one_hot", exact=True, in_rows=40, in_cols=37, k_rows=[3, 12], k_cols=[1, 9]),
        *cases("small", "powers_of_two", exact=True, in_rows=18, in_cols=66, k_rows=5, k_cols=7),
        *cases("small", in_rows=[3, 17, 40], in_cols=[16, 49], k_rows=[1, 3], k_cols=[1, 3, 8]),
        *cases("small", in_rows=1, in_cols=1, k_rows=1, k_cols=1),
        *cases("small", in_rows=[200], in_cols=[300], k_rows=2, k_cols=2),
        *cases("small", "normal", in_rows=31, in_cols=33, k_rows=15, k_cols=17),
        *cases("small", "large_mean", in_rows=20, in_cols=24, k_rows=11, k_cols=7),
        *cases("small", "wide_range", in_rows=33, in_cols=20, k_rows=5, k_cols=6),
        *cases("small", "cancellation", in_rows=16, in_cols=40, k_rows=3, k_cols=9),
        *_square("paper", [2**8, 2**10, 2**12], [8, 16, 32]),
        *_square("large", [2**14], [3, 7]),
        *cases("hidden", "integers", exact=True, in_rows=[127, 260], in_cols=131, k_rows=[3, 40], k_cols=[5, 7]),
        *cases("hidden", "one_hot", exact=True, in_rows=60, in_cols=50, k_rows=[6, 48], k_cols=[33, 2]),
        *cases("hidden", "normal", in_rows=[70, 133], in_cols=[64, 129], k_rows=[1, 10], k_cols=[21, 4]),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    legal=lambda case: case.sizes["k_rows"] <= case.sizes["in_rows"] and case.sizes["k_cols"] <= case.sizes["in_cols"],
    complexity=lambda s: s["in_rows"] * s["in_cols"] * s["k_rows"] * s["k_cols"],
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread reads the whole filter and its own window of the image from global memory for one output.",
    strategies=(
        "tiles in shared memory",
        "several outputs per thread",
        "unrolled loops",
        "128-bit loads and stores",
        "read-only loads",
    ),
    notes="Filters of any shape up to the image's are legal. `min_flops` is 0: a transform may do with fewer "
    "operations than the sums.",
)
