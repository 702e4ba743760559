"""Matrix product with a transposed factor and a scale: scores = scale · Q·Iᵀ."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    s = case.sizes
    draw = (lambda *n: rng.integers(-2, 3, n).astype(np.float64)) if case.exact else (lambda *n: rng.uniform(-1, 1, n))
    return {"queries": draw(s["nq"], s["dim"]), "items": draw(s["ni"], s["dim"])}


def _reference(arrays, case, precision):
    scale = float(np.float32(case.scalars["scale"]))
    value = scale * arrays["queries"] @ arrays["items"].T
    if case.exact:
        return {"scores": Expected(value)}
    mass = scale * np.abs(arrays["queries"]) @ np.abs(arrays["items"]).T
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    bound = 1.01 * unit * np.abs(value) + 2.0**-24 * (4 + 2 * np.sqrt(case.sizes["dim"])) * mass + 1e-30
    return {"scores": Expected(value, bound)}


def _case(kind, nq, ni, dim, exact=False):
    return Case(
        set=kind,
        sizes={"nq": nq, "ni": ni, "dim": dim},
        scalars={"scale": 0.5},
        distribution="integers" if exact else "uniform",
        exact=exact,
    )


TASK = Task(
    name="similarity",
    category="dense",
    formula="scores[q,i] = scale · Σ_d Q[q,d]·I[i,d]",
    contract=Contract(
        entry="similarity",
        arguments=(
            array_in("queries", "nq", "dim"),
            array_in("items", "ni", "dim"),
            array_out("scores", "nq", "ni"),
            scalar("scale"),
            size("nq"),
            size("ni"),
            size("dim"),
        ),
    ),
    cases=(
        *(
            _case(CaseSet.SMALL, *n, exact=True)
            for n in ((1, 1, 1), (3, 5, 7), (17, 33, 20), (64, 48, 32), (70, 130, 19))
        ),
        _case(CaseSet.SMALL, 33, 65, 129),
        *(_case(CaseSet.PAPER, *n) for n in ((128, 256, 128), (1024, 2048, 512))),
        _case(CaseSet.HIDDEN, 101, 203, 77, exact=True),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["nq"] * s["ni"] * s["dim"],
    min_flops=lambda s: 2 * s["nq"] * s["ni"] * s["dim"],
    min_bytes=lambda s, p: (
        (s["nq"] * s["dim"] + s["ni"] * s["dim"] + s["nq"] * s["ni"]) * (4 if p is Precision.FP32 else 2)
    ),
    waste="Every thread reads its rows from global memory alone.",
    tensor_cores=True,
)
