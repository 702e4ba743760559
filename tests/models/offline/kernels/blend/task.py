"""Elementwise, two inputs, a functor: y = s(mix·l + (1−mix)·r), s(t) = t / (1 + |t|)."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    n = case.sizes["count"]
    return {"left": rng.uniform(-1, 1, n), "right": rng.uniform(-1, 1, n)}


def _reference(arrays, case, precision):
    mix = float(np.float32(case.scalars["mix"]))
    mixed = mix * arrays["left"] + (1 - mix) * arrays["right"]
    value = mixed / (1 + np.abs(mixed))
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    return {"result": Expected(value, unit * np.abs(value) * 1.01 + 2.0**-22)}


def _case(kind, n, mix):
    return Case(set=kind, sizes={"count": n}, scalars={"mix": mix})


TASK = Task(
    name="blend",
    category="activation",
    formula="y[i] = s(mix·l[i] + (1−mix)·r[i]),  s(t) = t / (1 + |t|)",
    contract=Contract(
        entry="blend",
        arguments=(
            array_in("left", "count"),
            array_in("right", "count"),
            array_out("result", "count"),
            scalar("mix"),
            size("count"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, n, 0.25) for n in (1, 7, 8, 31, 1023, 4097)),
        *(_case(CaseSet.PAPER, n, 0.25) for n in (1 << 16, 1 << 20)),
        _case(CaseSet.HIDDEN, 70001, 0.9),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["count"],
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: 3 * s["count"] * (4 if p is Precision.FP32 else 2),
    waste="One block strides over the whole array.",
)
