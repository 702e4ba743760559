"""2-D elementwise with the thread axes the wrong way round: grey = 0.299 r + 0.587 g + 0.114 b."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    shape = (case.sizes["height"], case.sizes["width"])
    return {name: rng.uniform(0, 1, shape) for name in ("red", "green", "blue")}


def _reference(arrays, case, precision):
    value = 0.299 * arrays["red"] + 0.587 * arrays["green"] + 0.114 * arrays["blue"]
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    return {"grey": Expected(value, unit * np.abs(value) * 1.01 + 2.0**-22)}


def _case(kind, h, w):
    return Case(set=kind, sizes={"height": h, "width": w})


TASK = Task(
    name="luma",
    category="vector",
    formula="grey[y,x] = 0.299·r[y,x] + 0.587·g[y,x] + 0.114·b[y,x]",
    contract=Contract(
        entry="luma",
        arguments=(
            array_in("red", "height", "width"),
            array_in("green", "height", "width"),
            array_in("blue", "height", "width"),
            array_out("grey", "height", "width"),
            size("height"),
            size("width"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, h, w) for h, w in ((1, 1), (3, 5), (17, 33), (64, 48), (130, 7))),
        *(_case(CaseSet.PAPER, h, w) for h, w in ((256, 256), (1080, 1920))),
        _case(CaseSet.HIDDEN, 301, 203),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["height"] * s["width"],
    min_flops=lambda s: 5 * s["height"] * s["width"],
    min_bytes=lambda s, p: 4 * s["height"] * s["width"] * (4 if p is Precision.FP32 else 2),
    waste="Neighbouring threads touch neighbouring rows: every access is uncoalesced.",
)
