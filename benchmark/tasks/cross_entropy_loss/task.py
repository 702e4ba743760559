"""Cross entropy of one distribution against another; the result is a float in both precisions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="cross_entropy_loss",
    arguments=(
        array_out("loss", "1", dtype=DType.F32, doc="overwritten"),
        array_in("X", "C", doc="probabilities, 0 among them"),
        array_in("Y", "C", doc="weights ≥ 0; where 0, the element is skipped"),
        size("C"),
    ),
)
_FLOOR = float(np.float32(1e-8))


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    X, Y = (inputs.positive((case.sizes["C"],), rng) for _ in "XY")
    if case.distribution == "sparse":
        X[rng.random(X.size) < 0.25] = 0.0
        Y[rng.random(Y.size) < 0.75] = 0.0
    if case.distribution == "one_hot":
        Y = inputs.one_hot(Y.shape, rng)
    return {"X": X / max(np.sum(X), 1.0), "Y": Y / max(np.sum(Y), 1.0)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    X, Y = arrays["X"], arrays["Y"]
    logarithms = np.log(np.maximum(X, _FLOOR))
    value = -np.sum(Y * logarithms, keepdims=True)
    # The fast logarithm errs by 2^-21.4 for arguments near 1, else by 3 units in the last place. Zeros add exactly.
    of_logarithm = 6 * UNIT * np.abs(logarithms) + 2.0**-21
    error = np.sum(Y * of_logarithm) + rounding.sum_error(
        np.sum(Y * np.abs(logarithms)), terms=float(np.count_nonzero(Y))
    )
    return {"loss": Expected(value, rounding.bound(value, error, DType.F32))}


TASK = Task(
    name="cross_entropy_loss",
    category="loss",
    formula="loss = −Σ_c Y[c]·ln(max(X[c], 1e-8))",
    contract=CONTRACT,
    cases=(
        *cases("small", "probabilities", C=[1, 3, 31, 32, 255, 257, 1000, 4099, 40_000]),
        *cases("small", "one_hot", C=[1, 2, 33, 1025, 4099]),
        *cases("small", "sparse", C=[7, 129, 1023]),
        *cases("paper", "probabilities", C=[2**14, 2**16, 2**18, 2**20, 2**22]),
        *cases("large", "probabilities", C=[2**24, 2**26]),
        *cases("hidden", "one_hot", C=[99_991, 2**18 + 1]),
        *cases("hidden", "sparse", C=[5, 65_535, 1_000_003]),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["C"],
    min_flops=lambda s: 2 * s["C"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread adds its partial sum to the one result with an atomic of its own, and they queue up.",
    strategies=("block-level reduction with warp shuffles", "128-bit loads", "fast logarithm", "one atomic per block"),
    notes="The result is overwritten, whatever it held; the paper's kernel adds to it.",
)
