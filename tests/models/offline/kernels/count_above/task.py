"""Conditional integer reduction, exact: hits = #{values > limit}."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"values": rng.uniform(-1, 1, case.sizes["total"])}


def _reference(arrays, case, precision):
    limit = float(np.float32(case.scalars["limit"]))
    return {"hits": Expected(np.array([(arrays["values"] > limit).sum()], dtype=np.int32))}


def _case(kind, n, limit):
    return Case(set=kind, sizes={"total": n}, scalars={"limit": limit})


TASK = Task(
    name="count_above",
    category="select",
    formula="hits = #{i : values[i] > limit}",
    contract=Contract(
        entry="count_above",
        arguments=(
            array_in("values", "total"),
            array_out("hits", "1", dtype=DType.I32),
            scalar("limit"),
            size("total"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, n, 0.25) for n in (1, 7, 33, 1023, 20001)),
        *(_case(CaseSet.PAPER, n, 0.25) for n in (1 << 16, 1 << 20)),
        _case(CaseSet.HIDDEN, 99991, -0.5),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["total"],
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: s["total"] * (4 if p is Precision.FP32 else 2) + 4,
    waste="Every hit is an atomic on one address.",
)
