"""GELU in its exact form, by the error function."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.special import erfc

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="gelu",
    arguments=(array_out("out", "N"), array_in("in", "N", doc="may hold NaN and +infinity"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x = arrays["in"]
    value = 0.5 * x * erfc(-x / np.sqrt(2.0))
    # 1 + erf cancels for negative x: its error is absolute. erff errs by 2 units, its argument by 2, the sum by 1.
    error = 0.5 * np.abs(x) * 5 * UNIT + 2 * UNIT * np.abs(value)
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="gelu",
    category="activation",
    formula="out[i] = ½·in[i]·(1 + erf(in[i]/√2))",
    contract=CONTRACT,
    cases=(
        *cases("small", N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", N=[5, 40_001]),
        *cases("small", "wide_range", N=1009),
        *cases("small", "special", N=257),
        *cases("paper", N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", N=[2**24, 2**27]),
        *cases("hidden", "normal", N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "special", N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "float instead of double arithmetic"),
    notes="The tanh approximation is not GELU here: it errs by up to 5e-4.",
)
