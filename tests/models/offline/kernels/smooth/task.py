"""A 9-point stencil in two kernels: the inside is smoothed, the border copied."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"src": rng.uniform(-1, 1, (case.sizes["height"], case.sizes["width"]))}


def _reference(arrays, case, precision):
    src = arrays["src"]
    centre = float(np.float32(case.scalars["centre"]))
    value = src.copy()
    bound = np.zeros_like(src)
    h, w = src.shape
    if h > 2 and w > 2:
        offsets = [(dy, dx) for dy in (0, 1, 2) for dx in (0, 1, 2) if (dy, dx) != (1, 1)]
        ring = sum(src[dy : h - 2 + dy, dx : w - 2 + dx] for dy, dx in offsets)
        value[1:-1, 1:-1] = centre * src[1:-1, 1:-1] + (1 - centre) * 0.125 * ring
        unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
        bound[1:-1, 1:-1] = 1.01 * unit * np.abs(value[1:-1, 1:-1]) + 2.0**-20
    return {"dst": Expected(value, bound)}


def _case(kind, h, w):
    return Case(set=kind, sizes={"height": h, "width": w}, scalars={"centre": 0.5})


TASK = Task(
    name="smooth",
    category="scientific",
    formula="dst[y,x] = c·src[y,x] + (1−c)/8 · Σ of the 8 neighbours inside, src on the border",
    contract=Contract(
        entry="smooth",
        arguments=(
            array_in("src", "height", "width"),
            array_out("dst", "height", "width"),
            scalar("centre"),
            size("height"),
            size("width"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, h, w) for h, w in ((1, 1), (2, 9), (3, 3), (17, 33), (64, 48), (130, 7))),
        *(_case(CaseSet.PAPER, h, w) for h, w in ((256, 256), (1080, 1920))),
        _case(CaseSet.HIDDEN, 301, 203),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["height"] * s["width"],
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: 2 * s["height"] * s["width"] * (4 if p is Precision.FP32 else 2),
    waste="Slow axis on threadIdx.x, two launches over the same index space.",
)
