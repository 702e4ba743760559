"""The k largest elements of one or more rows, with their indices."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="top_k",
    arguments=(
        array_out("values", "rows", "k", doc="descending"),
        array_out("indices", "rows", "k", dtype=DType.I32, doc="within the row; of equal elements the smaller first"),
        array_in("input", "rows", "N", doc="may hold infinities, no NaN; -0 equals +0"),
        size("rows", "independent rows"),
        size("N", "elements of a row"),
        size("k", "at most N"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = CONTRACT.inputs[0].extents(case.sizes)
    if case.distribution == "zeros":
        return {"input": rng.choice([-1.0, -0.0, 0.0, 1.0], shape, p=[0.3, 0.33, 0.33, 0.04])}
    if case.distribution == "infinite":
        return {"input": np.where(rng.random(shape) < 0.02, np.inf, inputs.values("masked", shape, rng))}
    return {"input": inputs.values(case.distribution, shape, rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    order = np.argsort(-arrays["input"], axis=1, kind="stable")[:, : case.sizes["k"]]
    return {"values": Expected(np.take_along_axis(arrays["input"], order, axis=1)), "indices": Expected(order)}


TASK = Task(
    name="top_k",
    category="sort and scan",
    formula="values[r, j] = input[r, indices[r, j]] is the j-th largest of row r; of equal elements the first is first",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, rows=1, N=[1, 130, 1000, 5003], k=1),
        *cases("small", exact=True, rows=[1, 3], N=[64, 257, 1025], k=[2, 32, 50]),
        *cases("small", "normal", exact=True, rows=2, N=[300, 2000], k=[7, 128, 300]),
        *cases("small", "ties", exact=True, rows=[1, 5], N=[100, 777], k=[3, 64]),
        *cases("small", "ascending", exact=True, rows=1, N=500, k=33),
        *cases("small", "zeros", exact=True, rows=2, N=200, k=40),
        *cases("small", "infinite", exact=True, rows=3, N=120, k=[20, 120]),
        *cases("paper", exact=True, rows=1, N=[2**8, 2**10, 2**12, 2**14, 2**16], k=[32, 64, 128]),
        *cases("large", exact=True, rows=2**12, N=2**15, k=64),
        *cases("hidden", "normal", exact=True, rows=[1, 17], N=[600, 10_007], k=[5, 100, 513]),
        *cases("hidden", "ties", exact=True, rows=1, N=[4099, 65_537], k=[48, 1000]),
        *cases("hidden", "infinite", exact=True, rows=4, N=1500, k=[1, 700]),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "input"),
    legal=lambda case: case.sizes["k"] <= case.sizes["N"],
    complexity=lambda s: s["rows"] * s["N"] * max(1, (s["N"] - 1).bit_length()),
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="The whole row is sorted to keep k elements, with few threads on long runs and every level done twice.",
    strategies=(
        "selection without sorting",
        "a warp per stretch of a row",
        "candidates in shared memory",
        "work for every thread",
        "one launch for everything",
    ),
    notes="The paper's task is one row (rows = 1); users select from many. Any k up to N is legal; values and indices "
    "are exact. The complexity is N·log₂N, the work of a merge sort; the weights of the paper's optimized harness "
    "are N².",
)
