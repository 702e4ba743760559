"""Transpose of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="matrix_transpose",
    arguments=(array_in("A", "M", "N"), array_out("B", "N", "M"), size("M", "rows of A"), size("N", "columns of A")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"A": inputs.values(case.distribution, CONTRACT.arrays[0].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"B": Expected(np.ascontiguousarray(arrays["A"].T))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    chosen = sampling.positions(arrays["A"].size, rng)
    column, row = np.divmod(chosen, case.sizes["M"])
    return {"B": Expected(arrays["A"][row, column]).at(chosen)}


TASK = Task(
    name="matrix_transpose",
    category="dense matrix",
    formula="B[n, m] = A[m, n]",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, M=[1, 2, 15, 17, 31, 64], N=[1, 3, 16, 33, 130]),
        *cases("small", "normal", exact=True, M=[257, 300], N=[129, 301]),
        *cases("small", "special", exact=True, M=[7, 33], N=[5, 32]),
        *cases("paper", exact=True, M=[2**k for k in range(10, 15)], N=[2**k for k in range(10, 15)]),
        *cases("large", exact=True, M=2**14, N=20_000),
        *cases("large", exact=True, M=2**20, N=127),
        *cases("hidden", "normal", exact=True, M=[1, 255, 521], N=[2, 1023]),
        *cases("hidden", exact=True, M=[3, 70_001], N=5),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["M"] * s["N"],
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Loads are coalesced, but neighbouring threads store a whole column length apart.",
    strategies=(
        "tiles turned in shared memory",
        "padded tiles, free of bank conflicts",
        "128-bit loads and stores",
        "several loads in flight per thread",
    ),
    notes="Data movement: every case is exact; the paper allows an error of 0.01.",
)
