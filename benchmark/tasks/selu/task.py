"""SELU: a scaled ELU."""

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
    entry="selu",
    arguments=(
        array_out("out", "N"),
        array_in("in", "N", doc="may hold NaN and infinities"),
        scalar("alpha"),
        scalar("lambda"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x, alpha, scale = arrays["in"], scalar_of(case, "alpha"), scalar_of(case, "lambda")
    below = np.minimum(x, 0.0)
    value = scale * np.where(x < 0, alpha * np.expm1(below), x)
    # e^x − 1 cancels for small x, so that the exponential's error is absolute; three more operations round.
    exponential = np.where(x < 0, np.abs(alpha * scale) * np.exp(below) * rounding.exp_error(below), 0.0)
    error = exponential + 3 * UNIT * np.abs(value)
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="selu",
    category="activation",
    formula="out[i] = lambda·(in[i] < 0 ? alpha·(e^in[i] − 1) : in[i])",
    contract=CONTRACT,
    cases=(
        *cases("small", scalars={"alpha": 1.67, "lambda": 1.0}, N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", scalars={"alpha": 1.6732632, "lambda": 1.0507010}, N=[5, 40_001]),
        *cases("small", "wide_range", scalars={"alpha": 1.67, "lambda": 1.0}, N=1009),
        *cases("small", "non_finite", scalars={"alpha": 1.67, "lambda": 1.05}, N=[9, 257]),
        *cases("paper", scalars={"alpha": 1.67, "lambda": 1.0}, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", scalars={"alpha": 1.67, "lambda": 1.0}, N=[2**24, 2**27]),
        *cases("hidden", "normal", scalars={"alpha": 0.5, "lambda": [1.0507010, 2.0]}, N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "non_finite", scalars={"alpha": 1.6732632, "lambda": 1.0507010}, N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "fast exponential", "packed bf16 pairs"),
    notes="The paper's constants (alpha 1.67, lambda 1) are not the usual ones; both are arguments here. NaN stays "
    "NaN.",
)
