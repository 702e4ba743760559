"""Softmax over the rows of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="softmax",
    arguments=(
        array_out("out", "N", "C"),
        array_in("in", "N", "C", doc="may hold -infinity, whose probability is 0; not in a whole row"),
        size("N", "rows"),
        size("C", "columns"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, CONTRACT.arrays[1].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    below = arrays["in"] - np.max(arrays["in"], axis=1, keepdims=True)
    exponentials = np.exp(below)
    value = exponentials / np.sum(exponentials, axis=1, keepdims=True)
    storage = DType.STORAGE.resolve(precision)
    of_exponential = rounding.exp_error(below)
    of_sum = np.sum(value * of_exponential, axis=1, keepdims=True) + rounding.growth(case.sizes["C"])
    # The exponentials, and with them their sum, may be rounded to the storage type; the division errs by 2 units.
    relative = of_exponential + of_sum + 2 * rounding.unit_roundoff(storage) + 4 * UNIT
    return {"out": Expected(value, rounding.bound(value, value * relative, storage))}


TASK = Task(
    name="softmax",
    category="normalization",
    formula="out[n, c] = exp(in[n, c] − max_k in[n, k]) / Σ_j exp(in[n, j] − max_k in[n, k])",
    contract=CONTRACT,
    cases=(
        *cases("small", N=[1, 3, 33], C=[1, 2, 31, 33, 257]),
        *cases("small", N=1025, C=7),
        *cases("small", "normal", N=5, C=[32, 1000]),
        *cases("small", "large_mean", N=3, C=255),
        *cases("small", "wide_range", N=4, C=129),
        *cases("small", "ascending", N=2, C=[65, 1024]),
        *cases("small", "masked", N=7, C=[1, 40, 513]),
        *cases("paper", N=[16, 32, 64, 128], C=[2**8, 2**10, 2**12, 2**14]),
        *cases("large", N=[2**12, 2**16], C=2**11),
        *cases("hidden", "normal", N=2049, C=[3, 100]),
        *cases("hidden", "masked", N=63, C=4097),
        *cases("hidden", N=1, C=50_257),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in"),
    complexity=lambda s: s["N"] * s["C"],
    min_flops=lambda s: 3 * s["N"] * s["C"] - s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads with a thread per row: few threads work, and neighbours read a whole row apart.",
    strategies=("a block or a warp per row", "warp shuffles for maximum and sum", "one pass (online)", "128-bit loads"),
)
