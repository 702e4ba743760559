"""Integral of a function from its values at random points."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="monte_carlo_int",
    arguments=(
        array_in("y_samples", "N", doc="values of the function at points drawn uniformly from [a, b]"),
        array_out("result", "1", dtype=DType.F32, doc="overwritten"),
        scalar("a"),
        scalar("b"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    N = case.sizes["N"]
    if case.distribution == "integers" and not case.exact:
        # Of one sign, and few: the bound is below the effect of a single sample.
        return {"y_samples": np.abs(inputs.values("integers", (N,), rng, terms=N))}
    if case.distribution == "one_hot":
        return {"y_samples": inputs.one_hot((N,), rng)}
    return {"y_samples": 10.0 * inputs.values(case.distribution, (N,), rng, terms=100 * N)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    y, N = arrays["y_samples"], case.sizes["N"]
    length = scalar_of(case, "b") - scalar_of(case, "a")
    value = np.asarray(length * np.mean(y, keepdims=True))
    if case.exact:
        return {"result": Expected(value)}
    total, absolute, squares = (np.sum(terms, keepdims=True) for terms in (y, np.abs(y), y**2))
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(total, absolute, squares, exchangeable=exchangeable)
    error = np.abs(length) / N * (rounding.sum_error(magnitude, terms=N) + 4 * UNIT * magnitude)
    return {"result": Expected(value, rounding.bound(value, error, DType.F32))}


WHOLE = {"a": -1.0, "b": 1.0}
SMALL = {"a": -2.5, "b": 1.25}
PAPER = {"a": -321.5, "b": 456.75}

TASK = Task(
    name="monte_carlo_int",
    category="scientific",
    formula="result = (b − a)·Σ_i y_samples[i] / N",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, scalars=WHOLE, N=[1, 2, 64, 1024, 16_384]),
        *cases("small", "integers", scalars=SMALL, N=[3, 33, 255, 257, 509]),
        *cases("small", "one_hot", scalars=SMALL, N=[257, 4099]),
        *cases("small", scalars=SMALL, N=[1, 3, 31, 32, 255, 1000, 4099, 40_000]),
        *cases("small", "normal", scalars={"a": 0.0, "b": [0.1, 1000.0]}, N=1023),
        *cases("small", "large_mean", scalars=PAPER, N=997),
        *cases("small", "positive", scalars=SMALL, N=[2047, 9999]),
        *cases("small", "wide_range", scalars=SMALL, N=1009),
        *cases("small", "cancellation", scalars=SMALL, N=2050),
        *cases("paper", scalars=PAPER, N=[2**14, 2**16, 2**18, 2**20, 2**22]),
        *cases("large", scalars=PAPER, N=[2**26, 2**28]),
        *cases("hidden", "integers", exact=True, scalars={"a": -6.0, "b": 2.0}, N=[8, 2**15, 2**17]),
        *cases("hidden", "integers", scalars={"a": 3.0, "b": 3.7}, N=[7, 129, 511]),
        *cases("hidden", "one_hot", scalars=PAPER, N=[2**18 + 1, 999_983]),
        *cases("hidden", "positive", scalars={"a": 5.0, "b": 17.3}, N=[129, 50_021]),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"] - 1,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One atomic per sample to the one result, and one thread in a launch of its own scales.",
    strategies=(
        "block-level reduction with one atomic per block",
        "sums by warp shuffles",
        "128-bit loads and stores",
        "a grid that fills the GPU",
        "one launch for everything",
    ),
    notes="The result is overwritten, whatever it held; the paper's kernel for FP32 adds to it. It is a float in both "
    "precisions: a sum of a million samples in bfloat16 has two digits. The paper draws a and b at random; here they "
    "are fixed per case.",
)
