"""Copy of a matrix."""

from __future__ import annotations

from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="matrix_copy",
    arguments=(array_in("A", "M", "N"), array_out("B", "M", "N"), size("M", "rows"), size("N", "columns")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"A": inputs.values(case.distribution, CONTRACT.arrays[0].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"B": Expected(arrays["A"])}


TASK = Task(
    name="matrix_copy",
    category="dense matrix",
    formula="B[m, n] = A[m, n]",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, M=[1, 2, 15, 17, 64], N=[1, 3, 16, 31, 33, 130]),
        *cases("small", "normal", exact=True, M=[1, 257], N=[257, 301]),
        *cases("small", "special", exact=True, M=[7, 33], N=[5, 32]),
        *cases("paper", exact=True, M=[2**8, 2**10, 2**12, 2**14, 2**16], N=2048),
        *cases("large", exact=True, M=2**14, N=2**14),
        *cases("large", exact=True, M=2**20, N=127),
        *cases("hidden", "normal", exact=True, M=[1, 255, 521], N=[2, 1023]),
        *cases("hidden", exact=True, M=70_001, N=3),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["M"] * s["N"],
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Each thread of a 16x16 block moves a single element: half a warp per row, many instructions per byte.",
    strategies=(
        "128-bit loads and stores",
        "several loads in flight per thread",
        "a grid that fills the GPU",
    ),
    notes="Data movement: every case is exact; the paper allows an error of 0.01.",
)
