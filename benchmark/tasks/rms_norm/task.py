"""RMS normalization: every row is divided by its root mean square."""

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
    entry="rms_norm",
    arguments=(
        array_out("out", "rows", "N"),
        array_in("in", "rows", "N"),
        array_in("weight", "N"),
        array_in("bias", "N"),
        scalar("eps"),
        size("rows"),
        size("N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    rows, N = case.sizes["rows"], case.sizes["N"]
    return {
        "in": inputs.values(case.distribution, (rows, N), rng),
        "weight": inputs.uniform((N,), rng),
        "bias": inputs.uniform((N,), rng),
    }


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x, eps = arrays["in"], scalar_of(case, "eps")
    mean_square = np.mean(x**2, axis=1, keepdims=True)
    scaled = x / np.sqrt(mean_square + eps) * arrays["weight"]
    value = scaled + arrays["bias"]
    # The mean square has the error of a sum of positive terms and counts half; root, division and products round.
    of_mean_square = (rounding.growth(case.sizes["N"]) + 3 * UNIT) * mean_square / (mean_square + eps)
    error = np.abs(scaled) * (0.5 * of_mean_square + 8 * UNIT) + UNIT * (np.abs(value) + np.abs(arrays["bias"]))
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="rms_norm",
    category="normalization",
    formula="out[r, i] = in[r, i]/√(Σ_j in[r, j]²/N + eps)·weight[i] + bias[i]",
    contract=CONTRACT,
    cases=(
        *cases("small", scalars={"eps": 1e-5}, rows=1, N=[1, 2, 3, 31, 33, 255, 257, 1000, 1025]),
        *cases("small", scalars={"eps": 1e-5}, rows=[2, 33], N=[1, 7, 64, 129]),
        *cases("small", "normal", scalars={"eps": 1e-5}, rows=5, N=[32, 2049]),
        *cases("small", "large_mean", scalars={"eps": 1e-5}, rows=3, N=[6, 511]),
        *cases("small", "wide_range", scalars={"eps": 1e-5}, rows=4, N=200),
        *cases("small", "ties", scalars={"eps": 1e-3}, rows=7, N=12),
        *cases("paper", scalars={"eps": 1e-5}, rows=1, N=[64, 128, 256, 512, 1024]),
        *cases("large", scalars={"eps": 1e-5}, rows=2**13, N=2**12),
        *cases("large", scalars={"eps": 1e-5}, rows=2**16, N=2**10),
        *cases("hidden", "normal", scalars={"eps": [1e-5, 0.1]}, rows=[1, 130], N=[5, 769]),
        *cases("hidden", "large_mean", scalars={"eps": 1e-6}, rows=9, N=4099),
        *cases("hidden", scalars={"eps": 1e-5}, rows=1, N=50_257),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in"),
    complexity=lambda s: s["rows"] * s["N"],
    min_flops=lambda s: 4 * s["rows"] * s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Two launches read the row twice, and every thread adds to its row's sum with an atomic of its own.",
    strategies=("one launch, a block or warp per row", "the row kept in registers", "warp shuffles", "128-bit loads"),
    notes="The paper's task is one row (rows = 1), and has a bias; users have many rows. No allocation in the call.",
)
