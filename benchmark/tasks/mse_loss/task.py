"""Mean squared error; the result is a float in both precisions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="mse_loss",
    arguments=(
        array_out("loss", "1", dtype=DType.F32, doc="overwritten"),
        array_in("X", "N"),
        array_in("Y", "N"),
        size("N"),
    ),
)
_EXACT_SUM = ("integers", "one_hot")
"""Distributions whose sum of squares is exact in float in any order: only the division rounds."""


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = (case.sizes["N"],)
    if case.distribution == "one_hot":
        return {"X": inputs.one_hot(shape, rng), "Y": np.zeros(shape)}
    # A difference is up to twice as large as its terms, so its square counts for four products.
    return {name: inputs.values(case.distribution, shape, rng, terms=4 * shape[0]) for name in "XY"}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    N = case.sizes["N"]
    value = np.mean((arrays["X"] - arrays["Y"]) ** 2, keepdims=True)
    if case.exact:
        return {"loss": Expected(value)}
    # The difference rounds once and is squared; the terms are positive. Multiplying by 1/N is legal.
    of_sum = 0.0 if case.distribution in _EXACT_SUM else 2 * UNIT + rounding.sum_error(1.0, terms=N)
    return {"loss": Expected(value, rounding.bound(value, value * (of_sum + 2 * UNIT), DType.F32))}


TASK = Task(
    name="mse_loss",
    category="loss",
    formula="loss = Σ_i (X[i] − Y[i])² / N",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, N=[1, 2, 64, 4096]),
        *cases("small", "integers", N=[3, 33, 1025, 40_001]),
        *cases("small", "one_hot", N=[257, 4099]),
        *cases("small", N=[1, 3, 31, 32, 255, 257, 1000, 4099, 40_000]),
        *cases("small", "large_mean", N=997),
        *cases("small", "wide_range", N=1009),
        *cases("paper", N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", N=[2**24, 2**26]),
        *cases("hidden", "integers", N=[2**18 - 1, 1_000_003]),
        *cases("hidden", "one_hot", N=[2**18 + 1, 99_991]),
        *cases("hidden", "normal", N=[7, 65_535]),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["N"],
    min_flops=lambda s: 3 * s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread has an atomic of its own to the one result, and one thread in a launch of its own divides.",
    strategies=(
        "block-level reduction with warp shuffles",
        "128-bit loads",
        "division folded into the sum",
        "one launch",
    ),
    notes="The result is overwritten, whatever it held; the paper's kernel adds to it before it divides.",
)
