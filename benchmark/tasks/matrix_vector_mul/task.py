"""Matrix times vector."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="matrix_vector_mul",
    arguments=(
        array_in("A", "M", "N"),
        array_in("x", "N"),
        array_out("y", "M"),
        size("M", "rows"),
        size("N", "columns"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    M, N = case.sizes["M"], case.sizes["N"]
    A, x = inputs.factors(case.distribution, (M, N), (N,), rng, terms=N)
    return {"A": A, "x": x}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    A, x = arrays["A"], arrays["x"]
    value = A @ x
    if case.exact:
        return {"y": Expected(value)}
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(value, np.abs(A) @ np.abs(x), A**2 @ x**2, exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=case.sizes["N"])
    return {"y": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="matrix_vector_mul",
    category="dense matrix",
    formula="y[m] = Σ_n A[m, n]·x[n]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, M=[1, 17, 64, 257], N=[1, 31, 33, 1025]),
        *cases("small", "one_hot", exact=True, M=[33, 100], N=[65, 513]),
        *cases("small", "powers_of_two", exact=True, M=31, N=100),
        *cases("small", M=[1, 15, 65, 1000], N=[2, 16, 63, 129, 300]),
        *cases("small", "normal", M=48, N=[257, 2049]),
        *cases("small", "large_mean", M=9, N=127),
        *cases("small", "wide_range", M=20, N=66),
        *cases("small", "cancellation", M=8, N=200),
        *cases("paper", M=2048, N=[2**8, 2**10, 2**12, 2**14, 2**16]),
        *cases("large", M=2**14, N=2**14),
        *cases("large", M=2**10, N=2**17),
        *cases("large", M=2**20, N=2**8),
        *cases("hidden", "integers", exact=True, M=[1, 127, 2049], N=[513, 4099]),
        *cases("hidden", "one_hot", exact=True, M=[3, 1021], N=[77, 8191]),
        *cases("hidden", "normal", M=[2, 5000], N=[191, 1021]),
        *cases("hidden", M=1, N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["M"] * s["N"],
    min_flops=lambda s: s["M"] * (2 * s["N"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One thread per row: neighbouring threads read a whole row apart, and few threads share the work.",
    strategies=(
        "a warp per row",
        "neighbouring threads on neighbouring addresses",
        "sums by warp shuffles",
        "128-bit loads and stores",
        "long rows split over several warps",
    ),
    notes="The complexity is M·N, as the work is; the weights of the paper's optimized harness are M·N·N.",
)
