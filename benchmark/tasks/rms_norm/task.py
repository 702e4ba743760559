"""RMS normalization: every row is divided by its root mean square."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import rounding, sampling
from ...cases import scalar_of
from ...contract import Contract, Precision
from ...normalization import CASES_OF_ROWS, ROWS, draw_rows, weighted
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(entry="rms_norm", arguments=ROWS)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return draw_rows(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x, eps = arrays["in"], scalar_of(case, "eps")
    mean_square = np.mean(x**2, axis=1, keepdims=True)
    normalized = x / np.sqrt(mean_square + eps)
    # The mean square has the error of a sum of positive terms and counts half; root, division and products round.
    relative = 0.5 * (rounding.growth(case.sizes["N"]) + 3 * UNIT) * mean_square / (mean_square + eps) + 7 * UNIT
    return {"out": weighted(normalized, np.abs(normalized) * relative, arrays["weight"], arrays["bias"], precision)}


TASK = Task(
    name="rms_norm",
    category="normalization",
    formula="out[r, i] = in[r, i]/√(Σ_j in[r, j]²/N + eps)·weight[i] + bias[i]",
    contract=CONTRACT,
    cases=CASES_OF_ROWS,
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
