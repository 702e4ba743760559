"""Elementwise in double by accident, repeated by every block: out = 1.055·√((x·gain + 0.055)/1.055) − 0.055."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"src": rng.uniform(-0.5, 2, case.sizes["pixels"])}


def _reference(arrays, case, precision):
    gain = float(np.float32(case.scalars["gain"]))
    x = arrays["src"]
    lifted = x * gain + 0.055
    value = np.where(lifted <= 0, 0.0, 1.055 * np.sqrt(np.maximum(lifted, 0) / 1.055) - 0.055)
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    # Near zero the root magnifies the rounding of its argument without limit: allow the root of that rounding.
    slack = 2.0**-24 * (np.abs(x * gain) + 0.1) * 3
    noise = np.minimum(np.sqrt(slack), slack / (2 * np.sqrt(np.maximum(np.abs(lifted), 1e-12))))
    bound = 1.01 * unit * np.abs(value) + 8 * noise + 2.0**-21
    bound = np.where(np.abs(lifted) < 1e-6, bound + 0.06, bound)
    return {"out": Expected(value, bound)}


def _case(kind, n, gain):
    return Case(set=kind, sizes={"pixels": n}, scalars={"gain": gain})


TASK = Task(
    name="tone_curve",
    category="activation",
    formula="out = 1.055·√((x·gain + 0.055) / 1.055) − 0.055, 0 where the argument is not positive",
    contract=Contract(
        entry="tone_curve",
        arguments=(array_out("out", "pixels"), array_in("src", "pixels"), scalar("gain"), size("pixels")),
    ),
    cases=(
        *(_case(CaseSet.SMALL, n, 1.5) for n in (1, 7, 8, 1023, 4097)),
        *(_case(CaseSet.PAPER, n, 1.5) for n in (1 << 16, 1 << 20)),
        _case(CaseSet.HIDDEN, 70001, 0.75),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["pixels"],
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: 2 * s["pixels"] * (4 if p is Precision.FP32 else 2),
    waste="Every block does the whole work, in double.",
)
