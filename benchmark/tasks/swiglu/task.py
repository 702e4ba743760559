"""SwiGLU: a value, gated by a sigmoid-weighted gate."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from ... import inputs, rounding, sampling
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="swiglu",
    arguments=(array_out("out", "N"), array_in("gate", "N"), array_in("value", "N"), scalar("beta"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {name: inputs.values(case.distribution, (case.sizes["N"],), rng) for name in ("gate", "value")}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    argument = scalar_of(case, "beta") * arrays["gate"]
    sigmoid = expit(argument)
    value = arrays["gate"] * sigmoid * arrays["value"]
    # A sigmoid, or its product with the gate, that is too small for float may be 0.
    lost = rounding.TINY * np.abs(arrays["value"]) * (1.0 + np.abs(arrays["gate"]))
    error = np.abs(value) * (rounding.sigmoid_error(argument, sigmoid) + 2 * UNIT) + lost
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="swiglu",
    category="LLM sequence",
    formula="out[i] = gate[i]·sigmoid(beta·gate[i])·value[i]",
    contract=CONTRACT,
    cases=(
        *cases("small", scalars={"beta": 1.0}, N=[1, 2, 3, 31, 33, 255, 257, 1000, 1025, 4099]),
        *cases("small", "normal", scalars={"beta": [1.0, 1.702]}, N=[5, 4000]),
        *cases("small", "large_mean", scalars={"beta": 1.0}, N=300),
        *cases("small", "wide_range", scalars={"beta": 1.0}, N=1009),
        *cases("paper", scalars={"beta": 1.0}, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", scalars={"beta": 1.0}, N=[2**24, 2**26]),
        *cases("hidden", "normal", scalars={"beta": [0.5, -1.0]}, N=[7, 2**13 + 1]),
        *cases("hidden", "wide_range", scalars={"beta": 0.0}, N=1021),
        *cases("hidden", scalars={"beta": 1.0}, N=[10_007, 2**15 - 1]),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: 3 * s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every block goes over the whole array: the work is done as many times as there are blocks, up to 1024.",
    strategies=("each element once", "128-bit loads and stores", "fast exponential and division"),
    notes="The same baseline as the paper's, with at most 1024 blocks (reached at its largest size).",
)
