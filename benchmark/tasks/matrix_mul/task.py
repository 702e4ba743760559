"""Matrix product of rectangular matrices."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="matrix_mul",
    arguments=(
        array_in("A", "M", "K"),
        array_in("B", "K", "N"),
        array_out("C", "M", "N"),
        size("M"),
        size("N"),
        size("K"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    M, N, K = (case.sizes[name] for name in "MNK")
    A, B = inputs.factors(case.distribution, (M, K), (K, N), rng, terms=K)
    return {"A": A, "B": B}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    A, B = arrays["A"], arrays["B"]
    value = A @ B
    if case.exact:
        return {"C": Expected(value)}
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(value, np.abs(A) @ np.abs(B), A**2 @ B**2, exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=case.sizes["K"])
    return {"C": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    rows = sampling.rows(case.sizes["M"], rng)
    part = reference({"A": arrays["A"][rows], "B": arrays["B"]}, case, precision)["C"]
    return {"C": part.at(sampling.whole_rows(rows, case.sizes["N"]))}


TASK = Task(
    name="matrix_mul",
    category="dense matrix",
    formula="C[m, n] = Σ_k A[m, k]·B[k, n]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, M=[1, 17, 64], N=[1, 33], K=[1, 31, 129]),
        *cases("small", "one_hot", exact=True, M=[16, 33], N=65, K=[47, 64]),
        *cases("small", "powers_of_two", exact=True, M=31, N=32, K=100),
        *cases("small", M=[1, 15, 65], N=[16, 63], K=[2, 33, 128]),
        *cases("small", "normal", M=48, N=40, K=257),
        *cases("small", "large_mean", M=9, N=34, K=127),
        *cases("small", "wide_range", M=20, N=5, K=66),
        *cases("small", "cancellation", M=8, N=24, K=200),
        *cases("paper", M=[2**6, 2**8, 2**10, 2**12, 2**14], N=2048, K=4096),
        *cases("large", M=8192, N=8192, K=8192),
        *cases("hidden", "integers", exact=True, M=127, N=129, K=513),
        *cases("hidden", "integers", exact=True, M=65, N=2047, K=4095),
        *cases("hidden", "one_hot", exact=True, M=[1, 256], N=130, K=[77, 4096]),
        *cases("hidden", "normal", M=[2, 100], N=191, K=1021),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["M"] * s["N"] * s["K"],
    min_flops=lambda s: s["M"] * s["N"] * (2 * s["K"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread reads a whole row of A and column of B from global memory for its one element of C.",
    strategies=("tiles in shared memory", "several outputs per thread", "tensor cores (bf16)", "double buffering"),
    notes="Products are summed in float; `min_flops` counts inner products, the only algorithm within the error bound.",
    tensor_cores=True,
)
