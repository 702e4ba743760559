"""Layer normalization: every row is standardized."""

from __future__ import annotations

from numpy.random import Generator

from ... import inputs, sampling
from ...cases import scalar_of
from ...contract import Contract, Precision
from ...normalization import CASES_OF_ROWS, ROWS, draw_rows, standardize, weighted
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(entry="layer_norm", arguments=ROWS)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return draw_rows(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    normalized, error = standardize(arrays["in"], scalar_of(case, "eps"), axis=1, exchangeable=exchangeable)
    return {"out": weighted(normalized, error, arrays["weight"], arrays["bias"], precision)}


TASK = Task(
    name="layer_norm",
    category="normalization",
    formula="out[r, i] = (in[r, i] − mean_r)/√(var_r + eps)·weight[i] + bias[i], var_r = Σ_i (in[r, i] − mean_r)²/N",
    contract=CONTRACT,
    cases=CASES_OF_ROWS,
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in"),
    complexity=lambda s: s["rows"] * s["N"],
    min_flops=lambda s: 4 * s["rows"] * s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Three launches read the row three times, and every thread adds to its row's sum with an atomic of its own.",
    strategies=("one launch, a block or warp per row", "the row kept in registers", "warp shuffles", "128-bit loads"),
    notes="The paper's task is one row (rows = 1); users have many. The variance must be as accurate as from "
    "deviations: E[x²] − mean² loses everything where the mean is large. No allocation or host copy in the call.",
)
