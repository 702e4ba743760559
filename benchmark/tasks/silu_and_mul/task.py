"""SiLU of the first half of each row, times the second half."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="silu_and_mul",
    arguments=(
        array_in("in", "B", "2 * D"),
        array_out("out", "B", "D"),
        size("B", "rows"),
        size("D", "columns of out"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["B"], 2 * case.sizes["D"]), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x, g = np.split(arrays["in"], 2, axis=1)
    sigmoid = expit(x)
    value = x * sigmoid * g
    # A sigmoid, or its product with x, that is too small for float may be 0.
    lost = rounding.TINY * np.abs(g) * (1.0 + np.abs(x))
    error = np.abs(value) * (rounding.sigmoid_error(x, sigmoid) + 2 * UNIT) + lost
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="silu_and_mul",
    category="LLM sequence",
    formula="out[b, d] = x·sigmoid(x)·in[b, D + d], x = in[b, d]",
    contract=CONTRACT,
    cases=(
        *cases("small", B=[1, 3, 33], D=[1, 2, 31, 33, 257]),
        *cases("small", B=300, D=[5, 8]),
        *cases("small", "normal", B=4, D=[130, 1023]),
        *cases("small", "large_mean", B=2, D=100),
        *cases("small", "wide_range", B=3, D=129),
        *cases("paper", B=[16, 32, 64], D=[4096, 5120, 8192, 12288]),
        *cases("large", B=[2**11, 2**12], D=12288),
        *cases("hidden", "normal", B=[7, 257], D=[3, 1001]),
        *cases("hidden", "wide_range", B=1, D=[11_008, 14_337]),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in"),
    complexity=lambda s: s["B"] * s["D"],
    min_flops=lambda s: 3 * s["B"] * s["D"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="At most 256 blocks of 128 threads, one per row: a few long rows leave most of the GPU idle.",
    strategies=("a grid over rows and columns", "128-bit loads and stores", "fast exponential and division"),
)
