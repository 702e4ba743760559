"""A matrix times a number."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="matrix_scalar_mul",
    arguments=(
        array_in("A", "M", "N"),
        array_out("B", "M", "N"),
        scalar("scalar", doc="float in both precisions"),
        size("M", "rows"),
        size("N", "columns"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"A": inputs.values(case.distribution, CONTRACT.arrays[0].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    value = arrays["A"] * scalar_of(case, "scalar")
    if case.exact:
        return {"B": Expected(value)}
    # The product may be rounded to float before it is rounded to the storage type.
    return {"B": Expected(value, rounding.bound(value, UNIT * np.abs(value), DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="matrix_scalar_mul",
    category="dense matrix",
    formula="B[m, n] = scalar·A[m, n]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, scalars={"scalar": [3.0, -1.00390625]}, M=[1, 17, 65], N=[1, 33, 130]),
        *cases("small", "powers_of_two", exact=True, scalars={"scalar": 0.0}, M=5, N=31),
        *cases("small", scalars={"scalar": 0.7}, M=[1, 2, 15, 64], N=[1, 3, 16, 31, 257]),
        *cases("small", "normal", scalars={"scalar": [-0.3, 1.001]}, M=[40, 100], N=301),
        *cases("small", "wide_range", scalars={"scalar": 0.001}, M=33, N=66),
        *cases("small", "special", scalars={"scalar": -0.9}, M=7, N=29),
        *cases("paper", scalars={"scalar": 0.7}, M=[2**8, 2**10, 2**12, 2**14, 2**16], N=2048),
        *cases("large", scalars={"scalar": 0.7}, M=2**14, N=2**14),
        *cases("large", scalars={"scalar": -0.3}, M=2**20, N=127),
        *cases("hidden", "integers", exact=True, scalars={"scalar": [-7.0, 1.0]}, M=[3, 521], N=[1, 1025]),
        *cases("hidden", "normal", scalars={"scalar": [3.1415926, -1e-3]}, M=[1, 333], N=[2, 1023]),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["M"] * s["N"],
    min_flops=lambda s: s["M"] * s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Each thread of a 16x16 block scales a single element: half a warp per row, many instructions per byte.",
    strategies=(
        "128-bit loads and stores",
        "several loads in flight per thread",
        "a grid that fills the GPU",
    ),
    notes="The scalar stays float in bf16 too (the paper rounds it), and each case states its own instead of one at "
    "random, with which an answer of zeros could pass.",
)
