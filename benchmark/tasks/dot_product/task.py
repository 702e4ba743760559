"""Dot product of two vectors; the result is a float in both precisions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="dot_product",
    arguments=(
        array_out("result", "1", dtype=DType.F32, doc="overwritten"),
        array_in("x", "N"),
        array_in("y", "N"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    N = case.sizes["N"]
    x, y = inputs.factors(case.distribution, (N,), (N,), rng, terms=N)
    return {"x": x, "y": y}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    products = arrays["x"] * arrays["y"]
    value = np.sum(products, keepdims=True)
    if case.exact:
        return {"result": Expected(value)}
    magnitude = rounding.partial_sums(
        value,
        np.sum(np.abs(products)),
        np.sum(products**2),
        exchangeable=case.distribution in inputs.EXCHANGEABLE,
    )
    error = rounding.sum_error(magnitude, terms=case.sizes["N"])
    return {"result": Expected(value, rounding.bound(value, error, DType.F32))}


TASK = Task(
    name="dot_product",
    category="vector",
    formula="result = Σ_i x[i]·y[i]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, N=[1, 2, 33, 1025, 65_537]),
        *cases("small", "one_hot", exact=True, N=[257, 4099]),
        *cases("small", "powers_of_two", exact=True, N=1021),
        *cases("small", N=[1, 3, 31, 32, 255, 257, 1000, 4099, 40_000]),
        *cases("small", "normal", N=1023),
        *cases("small", "large_mean", N=997),
        *cases("small", "wide_range", N=1009),
        *cases("small", "cancellation", N=2050),
        *cases("paper", N=[2**16, 2**17, 2**18, 2**19, 2**20]),
        *cases("large", N=[2**24, 2**27]),
        *cases("hidden", "integers", exact=True, N=[2**20, 1_000_003]),
        *cases("hidden", "one_hot", exact=True, N=[2**18 + 1, 99_991]),
        *cases("hidden", "positive", N=[7, 65_535, 2**18 - 1]),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["N"],
    min_flops=lambda s: 2 * s["N"] - 1,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread adds its partial sum to the result with an atomic of its own, and the atomics queue up.",
    strategies=("block-level reduction with one atomic per block", "128-bit loads", "two-stage reduction"),
    notes="The result is overwritten, whatever it held; the paper's kernel adds to it. No element is skipped.",
)
