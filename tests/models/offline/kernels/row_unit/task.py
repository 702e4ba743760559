"""Row kernel with row pointers: dst = src / sqrt(Σ src² + tiny), one thread per row."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"src": rng.normal(size=(case.sizes["nrows"], case.sizes["ncols"]))}


def _reference(arrays, case, precision):
    src = arrays["src"]
    energy = (src * src).sum(axis=1, keepdims=True) + float(np.float32(case.scalars["tiny"]))
    value = src / np.sqrt(energy)
    unit = 2.0**-24 if precision is Precision.FP32 else 2.0**-8
    relative = 1.01 * unit + 2.0**-24 * (8 + src.shape[1])
    return {"dst": Expected(value, relative * np.abs(value) + 1e-30)}


def _case(kind, rows, cols):
    return Case(set=kind, sizes={"nrows": rows, "ncols": cols}, scalars={"tiny": 1e-6}, distribution="normal")


TASK = Task(
    name="row_unit",
    category="normalization",
    formula="dst[i,j] = src[i,j] / sqrt(Σ_j src[i,j]² + tiny)",
    contract=Contract(
        entry="row_unit",
        arguments=(
            array_out("dst", "nrows", "ncols"),
            array_in("src", "nrows", "ncols"),
            scalar("tiny"),
            size("nrows"),
            size("ncols"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, r, c) for r, c in ((1, 1), (3, 31), (5, 33), (65, 100), (2, 1025))),
        *(_case(CaseSet.PAPER, r, c) for r, c in ((256, 512), (4096, 1024))),
        _case(CaseSet.HIDDEN, 77, 771),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["nrows"] * s["ncols"],
    min_flops=lambda s: 3 * s["nrows"] * s["ncols"],
    min_bytes=lambda s, p: 2 * s["nrows"] * s["ncols"] * (4 if p is Precision.FP32 else 2),
    waste="One thread per row: uncoalesced, few threads.",
)
