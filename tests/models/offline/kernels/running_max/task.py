"""A quadratic scan with a maximum, exact: highest[t] = max of series[0..t]."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    n = case.sizes["steps"]
    return {"series": rng.normal(size=n) + np.sqrt(np.arange(n)) * 0.05}


def _reference(arrays, case, precision):
    return {"highest": Expected(np.maximum.accumulate(arrays["series"]))}


def _case(kind, n):
    return Case(set=kind, sizes={"steps": n}, distribution="normal")


TASK = Task(
    name="running_max",
    category="scan",
    formula="highest[t] = max(series[0], …, series[t])",
    contract=Contract(
        entry="running_max", arguments=(array_in("series", "steps"), array_out("highest", "steps"), size("steps"))
    ),
    cases=(
        *(_case(CaseSet.SMALL, n) for n in (1, 7, 255, 257, 2049)),
        *(_case(CaseSet.PAPER, n) for n in (1 << 12, 1 << 16)),
        _case(CaseSet.HIDDEN, 5003),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["steps"] ** 2,
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: 2 * s["steps"] * (4 if p is Precision.FP32 else 2),
    waste="Quadratic work.",
)
