"""Integral of a function from its values at equidistant points, by Simpson's rule."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="simpson_int",
    arguments=(
        array_in("y_samples", "N", doc="values of the function at a, a + h, …, b"),
        array_out("result", "1", dtype=DType.F32, doc="overwritten"),
        scalar("a"),
        scalar("b"),
        size("N", "at least 3"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    N = case.sizes["N"]
    if case.distribution == "one_hot":
        return {"y_samples": inputs.one_hot((N,), rng)}
    if case.exact:
        # Multiples of 3, of one sign: terms are whole and sums exact even with weights 1/3, 2/3, 4/3 rounded to float.
        most = min(8, 2**24 // (72 * N))
        return {"y_samples": 3.0 * rng.integers(1, most + 1, (N,))}
    if case.distribution == "integers":
        # Of one sign, and few: the bound is below the effect of a single sample.
        return {"y_samples": np.abs(inputs.values("integers", (N,), rng, terms=16 * N))}
    return {"y_samples": 10.0 * inputs.values(case.distribution, (N,), rng)}


def weights(N: int) -> NDArray[np.float64]:
    """Return the weight of each point in units of h/24, so that all are whole: Simpson's 8, 32, 16, 32, … 8.

    If N is even, the last three intervals have the weights 9, 27, 27, 9 of the 3/8 rule.
    """
    points = N if N % 2 == 1 else N - 3
    weight = np.zeros(N)
    if points > 1:
        weight[0:points:2], weight[1:points:2] = 16.0, 32.0
        weight[[0, points - 1]] = 8.0
    if points < N:
        weight[-4:] += [9.0, 27.0, 27.0, 9.0]
    return weight


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    N = case.sizes["N"]
    unit = (scalar_of(case, "b") - scalar_of(case, "a")) / (24 * (N - 1))
    terms = weights(N) * arrays["y_samples"]
    total, absolute, squares = (np.sum(t, keepdims=True) for t in (terms, np.abs(terms), terms**2))
    value = np.asarray(unit * total)
    if case.exact:
        return {"result": Expected(value)}
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(total, absolute, squares, exchangeable=exchangeable)
    error = np.abs(unit) * (rounding.sum_error(magnitude, terms=N) + 6 * UNIT * magnitude)
    return {"result": Expected(value, rounding.bound(value, error, DType.F32))}


def _exact(set: str, *points: int) -> tuple[Case, ...]:
    """Cases with h = 3, at numbers of points where that is exact by a reciprocal of N − 1 too: nothing is rounded."""
    scalars = [{"a": -3.0, "b": 3.0 * (N - 1) - 3.0} for N in points]
    return tuple(
        case
        for N, ends in zip(points, scalars, strict=True)
        for case in cases(set, "integers", exact=True, scalars=ends, N=N)
    )


SMALL = {"a": -2.5, "b": 1.25}
PAPER = {"a": -321.5, "b": 456.75}

TASK = Task(
    name="simpson_int",
    category="scientific",
    formula="result = h/3·(y_0 + 4·y_1 + 2·y_2 + … + 4·y_{N−2} + y_{N−1}), h = (b − a)/(N − 1); N even: the last three "
    "intervals 3h/8·(y_{N−4} + 3·y_{N−3} + 3·y_{N−2} + y_{N−1})",
    contract=CONTRACT,
    cases=(
        *_exact("small", 3, 4, 5, 6, 9, 10, 12, 33, 34, 257, 1022, 1025, 4098, 16_385, 16_386),
        *cases("small", "integers", scalars=SMALL, N=[3, 4, 5, 6, 7, 8, 255, 256, 511]),
        *cases("small", "one_hot", scalars=SMALL, N=[258, 515]),
        *cases("small", scalars=SMALL, N=[3, 4, 31, 32, 255, 1000, 4099, 40_000]),
        *cases("small", "normal", scalars={"a": 0.0, "b": [0.1, 1000.0]}, N=1023),
        *cases("small", "large_mean", scalars=PAPER, N=[997, 998]),
        *cases("small", "wide_range", scalars=SMALL, N=1009),
        *cases("paper", scalars=PAPER, N=[2**14, 2**16, 2**18, 2**20, 2**22]),
        *cases("large", scalars=PAPER, N=[2**26, 2**28]),
        *_exact("hidden", 17, 18, 2**13 + 1, 16_392, 2**16 + 1),
        *cases("hidden", "integers", scalars={"a": 3.0, "b": 3.7}, N=[9, 10, 301, 500]),
        *cases("hidden", "one_hot", scalars=PAPER, N=[2**18, 2**18 + 1, 999_983]),
        *cases("hidden", "positive", scalars={"a": 5.0, "b": 17.3}, N=[130, 50_021]),
    ),
    generate=generate,
    reference=reference,
    legal=lambda case: case.sizes["N"] >= 3,
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"] - 1,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every other thread is idle, and every other has an atomic of its own to the one result.",
    strategies=(
        "block-level reduction with one atomic per block",
        "sums by warp shuffles",
        "128-bit loads and stores",
        "work for every thread",
        "a grid that fills the GPU",
    ),
    notes="The integral is over all of [a, b]. The paper's sum drops the last interval if N is even, as all its sizes "
    "are; here the last three intervals go by the 3/8 rule then, which like Simpson's is exact for cubics. The result "
    "is overwritten, whatever it held (one of the paper's kernels adds to it), and a float in both precisions.",
)
