"""Sorting of one or more rows in place, ascending."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_inout, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="sorting",
    arguments=(
        array_inout("data", "rows", "N", doc="may hold infinities, no NaN"),
        size("rows", "independent rows"),
        size("N", "elements of a row"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = CONTRACT.arrays[0].extents(case.sizes)
    if case.distribution == "descending":
        return {"data": -inputs.values("ascending", shape, rng)}
    if case.distribution == "infinite":
        return {"data": np.where(rng.random(shape) < 0.2, np.inf, inputs.values("masked", shape, rng))}
    return {"data": inputs.values(case.distribution, shape, rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"data": Expected(np.sort(arrays["data"], axis=1))}


TASK = Task(
    name="sorting",
    category="sort and scan",
    formula="data[r] = the elements of data[r] in ascending order",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, rows=1, N=[1, 2, 3, 31, 33, 256, 257, 1000, 1025, 5003]),
        *cases("small", "normal", exact=True, rows=[2, 9], N=[1, 65, 500]),
        *cases("small", "ties", exact=True, rows=[1, 3], N=[64, 777]),
        *cases("small", "ascending", exact=True, rows=2, N=[100, 513]),
        *cases("small", "descending", exact=True, rows=1, N=[129, 1024]),
        *cases("small", "wide_range", exact=True, rows=4, N=300),
        *cases("small", "infinite", exact=True, rows=3, N=[7, 250]),
        *cases("paper", exact=True, rows=1, N=[2**8, 2**10, 2**12, 2**14, 2**16]),
        *cases("large", exact=True, rows=2**12, N=2**14),
        *cases("large", exact=True, rows=2**6, N=2**20),
        *cases("hidden", "normal", exact=True, rows=[1, 13], N=[5, 2047, 10_007]),
        *cases("hidden", "ties", exact=True, rows=1, N=[4099, 100_003]),
        *cases("hidden", "descending", exact=True, rows=2, N=3000),
        *cases("hidden", "infinite", exact=True, rows=[1, 5], N=1500),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "data"),
    complexity=lambda s: s["rows"] * s["N"] * max(1, (s["N"] - 1).bit_length()),
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Few threads merge long runs, one element after the other, and each level goes to the workspace and back.",
    strategies=(
        "radix sort",
        "work for every thread",
        "runs sorted in shared memory",
        "one launch for everything",
        "merges split evenly (merge path)",
    ),
    notes="The paper's task is one row (rows = 1); users sort many. The judge restores the data before every call, so "
    "that no call sorts sorted data. The complexity is N·log₂N, the work of a merge sort; the weights of the paper's "
    "optimized harness are N².",
)
