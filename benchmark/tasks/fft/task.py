"""Discrete Fourier transform of complex vectors, real and imaginary parts in arrays of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="fft",
    arguments=(
        array_in("in_re", "batch", "N"),
        array_in("in_im", "batch", "N"),
        array_out("out_re", "batch", "N"),
        array_out("out_im", "batch", "N"),
        size("batch", "independent transforms"),
        size("N", "a power of two, at least 2"),
    ),
)
_UNITS: Final = {Precision.FP32: 6 * UNIT, Precision.BF16: rounding.unit_roundoff(DType.BF16)}
"""Error per stage, relative to the largest output. Float: a root of unity by the fast sine, a complex product, a sum.
bfloat16: the roots, and the work arrays after each stage, may be kept in it."""


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = CONTRACT.arrays[0].extents(case.sizes)
    if case.distribution == "impulse":
        # Only the first element is there: whatever the algorithm, every output is that element.
        first = {name: np.zeros(shape) for name in ("in_re", "in_im")}
        for array in first.values():
            array[:, 0] = inputs.sixteen_bits(shape[:1], rng)
        return first
    return {name: inputs.values(case.distribution, shape, rng, terms=case.sizes["N"]) for name in ("in_re", "in_im")}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    right = np.fft.fft(arrays["in_re"] + 1j * arrays["in_im"])
    parts = {"out_re": right.real, "out_im": right.imag}
    if case.exact:
        return {name: Expected(value) for name, value in parts.items()}
    return {name: Expected(value, _bound(value, right, precision)) for name, value in parts.items()}


def _bound(value: NDArray[np.float64], right: NDArray[np.complex128], precision: Precision) -> NDArray[np.float64]:
    """Return the bound of one part of the outputs.

    An output sums one element of each of the small transforms of a stage, with weights of modulus 1. By Parseval the
    root of the sum of their squares is at most the largest output, and so is what their errors grow to.
    """
    stages = math.log2(right.shape[1])
    error = stages * _UNITS[precision] * np.max(np.abs(right), axis=1, keepdims=True)
    return rounding.bound(value, np.broadcast_to(error, value.shape), DType.STORAGE.resolve(precision))


def _operations(sizes: Mapping[str, int]) -> int:
    return sizes["batch"] * sizes["N"] * (sizes["N"].bit_length() - 1)


TASK = Task(
    name="fft",
    category="scientific",
    formula="out[k] = Σ_n in[n]·e^(−2πi·k·n/N), unnormalised",
    contract=CONTRACT,
    cases=(
        *cases("small", "impulse", exact=True, batch=[1, 3], N=[2, 4, 8, 32, 256, 2048]),
        *cases("small", "integers", exact=True, batch=[1, 33], N=2),
        *cases("small", batch=[1, 2, 5], N=[2, 4, 16, 64, 128, 1024]),
        *cases("small", "normal", batch=3, N=[8, 512, 4096]),
        *cases("small", "wide_range", batch=2, N=[32, 256]),
        *cases("small", "large_mean", batch=2, N=[16, 128]),
        *cases("paper", batch=1, N=[2**10, 2**11, 2**12, 2**13, 2**14]),
        *cases("large", batch=[2**12, 2**13], N=2**12),
        *cases("large", batch=1, N=2**24),
        *cases("hidden", "impulse", exact=True, batch=[2, 7], N=[16, 512, 2**15]),
        *cases("hidden", "normal", batch=[4, 31], N=[32, 2048]),
        *cases("hidden", batch=1, N=2**16),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in_re", "in_im"),
    legal=lambda case: case.sizes["N"] >= 2 and case.sizes["N"].bit_count() == 1,
    complexity=_operations,
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every stage is a launch of its own that reads and writes everything; the roots are computed at every call.",
    strategies=(
        "one launch for everything",
        "several stages in shared memory",
        "a larger radix",
        "a radix of 8 or 16 in registers",
        "128-bit loads and stores",
    ),
    notes="The paper's task is one transform (batch = 1); users have many. Inputs and outputs are device arrays, and "
    "nothing is copied from or made on the host. No lower bound of the operations of a transform is proven. bf16: the "
    "arrays may be rounded after every stage, or kept in float.",
)
