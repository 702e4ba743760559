"""Hinge loss of each element; nothing is summed."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="hinge_loss",
    arguments=(
        array_out("loss", "N", doc="all N elements are written"),
        array_in("predictions", "N"),
        array_in("targets", "N", dtype=DType.I32, doc="1, or any other number for the other class"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = (case.sizes["N"],)
    targets = rng.choice([-1, 0, 1, 2, 7], shape) if case.distribution == "any_label" else rng.integers(0, 2, shape)
    return {"predictions": rng.uniform(-2.0, 2.0, shape), "targets": targets}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    signs = np.where(arrays["targets"] == 1, 1.0, -1.0)
    # The difference rounds once, and twice through float comes to the same.
    return {"loss": Expected(np.maximum(0.0, 1.0 - signs * arrays["predictions"]))}


TASK = Task(
    name="hinge_loss",
    category="loss",
    formula="loss[i] = max(0, 1 − y·predictions[i]), y = +1 if targets[i] = 1 else −1",
    contract=CONTRACT,
    cases=(
        *cases("small", N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099, 40_001]),
        *cases("small", "any_label", N=[5, 257, 2050]),
        *cases("paper", N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", N=[2**24, 2**26]),
        *cases("hidden", N=[7, 2**16 + 1]),
        *cases("hidden", "any_label", N=[99_991, 1_000_003]),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every access is a single element; in bf16 one block of 1024 threads does everything.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "several elements per thread"),
    notes="All N elements are outputs and are compared; the paper's harness looks at the first alone, and its bf16 "
    "baseline computes the first 1024. One rounding per element, so that every case is compared bit for bit.",
)
