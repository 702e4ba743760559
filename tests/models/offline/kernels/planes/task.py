"""Data movement, exact: planar[c,s] = mixed[s,c]."""

from __future__ import annotations

from cudamaster.benchmark.contract import Contract, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Case, CaseSet, Expected, Task


def _generate(case, precision, rng):
    return {"mixed": rng.normal(size=(case.sizes["samples"], case.sizes["channels"]))}


def _reference(arrays, case, precision):
    return {"planar": Expected(arrays["mixed"].T.copy())}


def _case(kind, s, c):
    return Case(set=kind, sizes={"samples": s, "channels": c}, distribution="normal")


TASK = Task(
    name="planes",
    category="dense",
    formula="planar[c,s] = mixed[s,c]",
    contract=Contract(
        entry="planes",
        arguments=(
            array_in("mixed", "samples", "channels"),
            array_out("planar", "channels", "samples"),
            size("samples"),
            size("channels"),
        ),
    ),
    cases=(
        *(_case(CaseSet.SMALL, s, c) for s, c in ((1, 1), (3, 5), (33, 31), (64, 64), (130, 70))),
        *(_case(CaseSet.PAPER, s, c) for s, c in ((512, 256), (4096, 2048))),
        _case(CaseSet.HIDDEN, 301, 203),
    ),
    generate=_generate,
    reference=_reference,
    complexity=lambda s: s["samples"] * s["channels"],
    min_flops=lambda s: 0,
    min_bytes=lambda s, p: 2 * s["samples"] * s["channels"] * (4 if p is Precision.FP32 else 2),
    waste="Writes are strided by a whole row.",
)
