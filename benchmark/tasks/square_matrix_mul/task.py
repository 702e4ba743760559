"""Product of square matrices."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="square_matrix_mul",
    arguments=(array_in("A", "M", "M"), array_in("B", "M", "M"), array_out("C", "M", "M"), size("M")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    M = case.sizes["M"]
    A, B = inputs.factors(case.distribution, (M, M), (M, M), rng, terms=M)
    return {"A": A, "B": B}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    A, B = arrays["A"], arrays["B"]
    value = A @ B
    if case.exact:
        return {"C": Expected(value)}
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    magnitude = rounding.partial_sums(value, np.abs(A) @ np.abs(B), A**2 @ B**2, exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=case.sizes["M"])
    return {"C": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="square_matrix_mul",
    category="dense matrix",
    formula="C[i, j] = Σ_k A[i, k]·B[k, j]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, M=[1, 2, 3, 16, 17, 33, 65, 129]),
        *cases("small", "one_hot", exact=True, M=[15, 48, 66]),
        *cases("small", "powers_of_two", exact=True, M=[31, 64]),
        *cases("small", M=[1, 5, 15, 16, 32, 47, 63, 130]),
        *cases("small", "normal", M=[40, 97]),
        *cases("small", "large_mean", M=34),
        *cases("small", "wide_range", M=20),
        *cases("small", "cancellation", M=49),
        *cases("paper", M=[16, 64, 256, 1024, 4096]),
        *cases("large", M=[8192, 12_288]),
        *cases("hidden", "integers", exact=True, M=[127, 257]),
        *cases("hidden", "one_hot", exact=True, M=[130, 333]),
        *cases("hidden", "normal", M=[7, 101, 320]),
        *cases("hidden", "wide_range", M=191),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "A"),
    complexity=lambda s: s["M"] ** 3,
    min_flops=lambda s: s["M"] ** 2 * (2 * s["M"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread reads a whole row of A and column of B from global memory for its one element of C.",
    strategies=(
        "tiles in shared memory",
        "several outputs per thread",
        "tensor cores (bf16)",
        "double buffering",
        "128-bit loads and stores",
    ),
    notes="Products are summed in float; `min_flops` counts inner products, the only algorithm within the error bound.",
    tensor_cores=True,
)
