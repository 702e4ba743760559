"""Row kernel with a maximum and a sum: answer = ln Σ exp(table[i,·])."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"table": rng.normal(scale=3.0, size=(case.sizes["items"], case.sizes["features"]))}


def _reference(arrays, case, precision):
    table = arrays["table"]
    peak = table.max(axis=1)
    value = peak + np.log(np.exp(table - peak[:, None]).sum(axis=1))
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    spread = (peak - table.min(axis=1)).max()
    bound = 1.01 * unit * np.abs(value) + 2.0**-24 * (16 + 2 * spread + table.shape[1] + 2 * np.abs(peak))
    return {"answer": Expected(value, bound)}


def _case(kind, items, features):
    return Case(set=kind, sizes={"items": items, "features": features}, distribution="normal")


TASK = Task(
    name="row_logsumexp",
    category="normalization",
    formula="answer[i] = ln Σ_j exp(table[i,j])",
    contract=Contract(
        entry="row_logsumexp",
        arguments=(
            array_in("table", "items", "features"),
            array_out("answer", "items"),
            size("items"),
            size("features"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, r, c) for r, c in ((1, 1), (3, 31), (5, 33), (65, 100), (2, 1025))),
        *(_case(CaseSet.PAPER, r, c) for r, c in ((256, 512), (1024, 2048))),
        _case(CaseSet.HIDDEN, 77, 771),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["items"] * s["features"],
    min_flops=lambda s: 2 * s["items"] * s["features"],
    min_bytes=lambda s, p: s["items"] * (s["features"] + 1) * (4 if p is Precision.FP32 else 2),
    waste="One thread per row walks it twice.",
)
