"""The logistic function."""

from __future__ import annotations

from numpy.random import Generator
from scipy.special import expit

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="sigmoid",
    arguments=(array_out("out", "N"), array_in("in", "N", doc="may hold NaN and infinities"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x = arrays["in"]
    value = expit(x)
    error = value * rounding.sigmoid_error(x, value)
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="sigmoid",
    category="activation",
    formula="out[i] = 1/(1 + e^(−in[i]))",
    contract=CONTRACT,
    cases=(
        *cases("small", N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", N=[5, 40_001]),
        *cases("small", "large_mean", N=300),
        *cases("small", "wide_range", N=1009),
        *cases("small", "non_finite", N=[9, 257]),
        *cases("paper", N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", N=[2**24, 2**27]),
        *cases("hidden", "normal", N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "wide_range", N=4097),
        *cases("hidden", "non_finite", N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "fast exponential and division"),
    notes="Right to a few units also where the result is tiny, which ½ + ½·tanh(x/2) is not. NaN stays NaN.",
)
