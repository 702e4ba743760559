"""Leaky ReLU: negative numbers are scaled."""

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
    entry="leaky_relu",
    arguments=(
        array_out("out", "N"),
        array_in("in", "N", doc="may hold NaN and infinities"),
        scalar("alpha"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x = arrays["in"]
    value = np.where(x < 0, scalar_of(case, "alpha") * x, x)
    if case.exact:
        return {"out": Expected(value)}
    error = np.where(x < 0, UNIT * np.abs(value), 0.0)
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="leaky_relu",
    category="activation",
    formula="out[i] = in[i] < 0 ? alpha·in[i] : in[i]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, scalars={"alpha": 0.25}, N=[1, 33, 1025]),
        *cases("small", scalars={"alpha": 0.01}, N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", scalars={"alpha": 0.01}, N=[5, 40_001]),
        *cases("small", "wide_range", scalars={"alpha": 0.01}, N=1009),
        *cases("small", "non_finite", scalars={"alpha": 0.2}, N=[9, 257]),
        *cases("paper", scalars={"alpha": 0.01}, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", scalars={"alpha": 0.01}, N=[2**24, 2**27]),
        *cases("hidden", "normal", scalars={"alpha": [0.3, 1.5]}, N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "integers", exact=True, scalars={"alpha": [0.0, -0.5]}, N=4097),
        *cases("hidden", "non_finite", scalars={"alpha": 0.01}, N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "packed bf16 pairs"),
    notes="alpha may be any finite number, also above 1 or below 0: max(x, alpha·x) is not enough. NaN stays NaN.",
)
