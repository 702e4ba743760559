"""Convolution of a signal with a filter: valid cross-correlation in one dimension."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

Float = NDArray[np.float64]

CONTRACT = Contract(
    entry="conv_1d",
    arguments=(
        array_in("input", "input_size"),
        array_in("kernel", "kernel_size"),
        array_out("output", "input_size - kernel_size + 1"),
        size("input_size"),
        size("kernel_size", "taps; at most input_size"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    taps = case.sizes["kernel_size"]
    kernel, signal = inputs.factors(case.distribution, (taps,), (case.sizes["input_size"],), rng, terms=taps)
    return {"input": signal, "kernel": kernel}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x, w = arrays["input"], arrays["kernel"]
    return {"output": _expected(x, w, lambda x, w: np.correlate(x, w, "valid"), case, precision)}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    windows = sliding_window_view(arrays["input"], case.sizes["kernel_size"])
    chosen = sampling.positions(len(windows), rng, most=2**18)
    return {"output": _expected(windows[chosen], arrays["kernel"], np.matmul, case, precision).at(chosen)}


def _expected(
    x: Float, w: Float, convolve: Callable[[Float, Float], Float], case: Case, precision: Precision
) -> Expected:
    value = convolve(x, w)
    if case.exact:
        return Expected(value)
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    absolute, squares = convolve(np.abs(x), np.abs(w)), convolve(x**2, w**2)
    magnitude = rounding.partial_sums(value, absolute, squares, exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=len(w))
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


TASK = Task(
    name="conv_1d",
    category="convolution and pooling",
    formula="output[i] = Σ_k input[i + k]·kernel[k], i ≤ input_size − kernel_size",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, input_size=[64, 257, 1031], kernel_size=[1, 2, 31, 64]),
        *cases("small", "one_hot", exact=True, input_size=[300, 1025], kernel_size=[33, 257]),
        *cases("small", "powers_of_two", exact=True, input_size=513, kernel_size=300),
        *cases("small", input_size=[130, 1000], kernel_size=[1, 3, 32, 129]),
        *cases("small", "normal", input_size=[40, 4099], kernel_size=[5, 40]),
        *cases("small", "large_mean", input_size=600, kernel_size=127),
        *cases("small", "wide_range", input_size=400, kernel_size=66),
        *cases("small", "cancellation", input_size=300, kernel_size=100),
        *cases("small", input_size=[1, 40_000], kernel_size=1),
        *cases("paper", input_size=[2**10, 2**12, 2**14, 2**16, 2**18], kernel_size=[32, 64, 128, 256]),
        *cases("large", input_size=2**26, kernel_size=[31, 256]),
        *cases("hidden", "integers", exact=True, input_size=[2053, 10_007], kernel_size=[7, 255, 1025]),
        *cases("hidden", "one_hot", exact=True, input_size=5000, kernel_size=[48, 513]),
        *cases("hidden", "normal", input_size=[700, 65_537], kernel_size=[11, 300]),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    legal=lambda case: case.sizes["kernel_size"] <= case.sizes["input_size"],
    complexity=lambda s: s["input_size"] * s["kernel_size"],
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread reads the whole filter and its own stretch of the input from global memory for one output.",
    strategies=(
        "tiles in shared memory",
        "several outputs per thread",
        "128-bit loads and stores",
        "unrolled loops",
    ),
    notes="Filters of any length up to the input's are legal. `min_flops` is 0: a transform may do with fewer "
    "operations than the sums.",
)
