"""Scalar reduction through a helper function: Σ w·|p − q|."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    n = case.sizes["length"]
    if case.exact:
        return {name: rng.integers(-3, 4, n).astype(np.float64) for name in ("p", "q", "w")}
    return {"p": rng.normal(size=n), "q": rng.normal(size=n), "w": rng.uniform(0, 1, n)}


def _reference(arrays, case, precision):
    terms = arrays["w"] * np.abs(arrays["p"] - arrays["q"])
    n = case.sizes["length"]
    bound = 2.0**-24 * (4 + 2 * np.sqrt(n)) * np.abs(terms).sum() + 1e-30
    return {"total": Expected(np.array([terms.sum()]), None if case.exact else np.array([bound]))}


def _case(kind, n, exact=False):
    return Case(set=kind, sizes={"length": n}, distribution="integers" if exact else "normal", exact=exact)


TASK = Task(
    name="weighted_distance",
    category="loss",
    formula="total = Σ w[i]·|p[i] − q[i]|",
    contract=Contract(
        entry="weighted_distance",
        arguments=(
            array_out("total", "1", dtype=DType.F32),
            array_in("p", "length"),
            array_in("q", "length"),
            array_in("w", "length"),
            size("length"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, n, exact=True) for n in (1, 5, 127, 129, 1000, 8191)),
        _case(CaseSet.SMALL, 3001),
        *(_case(CaseSet.PAPER, n) for n in (1 << 16, 1 << 20)),
        _case(CaseSet.HIDDEN, 99991, exact=True),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["length"],
    min_flops=lambda s: 3 * s["length"],
    min_bytes=lambda s, p: 3 * s["length"] * (4 if p is Precision.FP32 else 2) + 4,
    waste="One atomic per thread on one address.",
)
