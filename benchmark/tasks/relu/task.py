"""ReLU: negative numbers become 0."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="relu",
    arguments=(array_out("out", "N"), array_in("in", "N", doc="may hold NaN and infinities"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x = arrays["in"]
    return {"out": Expected(np.where(x < 0, 0.0, x))}


TASK = Task(
    name="relu",
    category="activation",
    formula="out[i] = max(0, in[i])",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", exact=True, N=[5, 40_001]),
        *cases("small", "wide_range", exact=True, N=1009),
        *cases("small", "non_finite", exact=True, N=[9, 257]),
        *cases("paper", exact=True, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", exact=True, N=[2**24, 2**27]),
        *cases("hidden", "normal", exact=True, N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "non_finite", exact=True, N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "packed bf16 pairs"),
    notes="Nothing is rounded, so that every case is exact. NaN stays NaN: a bare fmaxf(x, 0) makes 0 of it.",
)
