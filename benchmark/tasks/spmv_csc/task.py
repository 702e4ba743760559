"""Sparse matrix times vector, the matrix in compressed sparse columns."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="spmv_csc",
    arguments=(
        size("rows"),
        size("cols"),
        size("nnz", "entries"),
        array_in("values", "nnz"),
        array_in("row_idx", "nnz", dtype=DType.I32, doc="within a column unsorted, duplicates count twice"),
        array_in("col_offsets", "cols + 1", dtype=DType.I32, doc="from 0 to nnz, ascending; a column may be empty"),
        array_in("x", "cols"),
        array_out("y", "rows", doc="0 for rows without entries"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_csc(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.csc(arrays), arrays, case, precision)


TASK = Task(
    name="spmv_csc",
    category="sparse",
    formula="y[r] = Σ_c Σ_{k: row_idx[k] = r} values[k]·x[c], col_offsets[c] ≤ k < col_offsets[c+1]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 77], cols=[1, 31, 1000], nnz=[1, 333]),
        *cases("small", "one_hot", exact=True, rows=100, cols=[33, 64], nnz=999),
        *cases("small", rows=[1, 100], cols=[1, 33, 257], nnz=[1, 64, 1023]),
        *cases("small", "normal", rows=65, cols=200, nnz=4099),
        *cases("small", "wide_range", rows=40, cols=31, nnz=640),
        *cases("small", "power_law", rows=300, cols=[513, 1500], nnz=5000),
        *cases("small", "empty_rows", rows=64, cols=[2, 129], nnz=700),
        *cases("small", "banded", rows=300, cols=[100, 600], nnz=2500),
        *cases("small", "duplicates", rows=50, cols=67, nnz=1000),
        *(case for k in range(10, 16) for case in cases("paper", rows=2048, cols=2**k, nnz=2**k * 2048 // 100)),
        *cases("large", rows=2**20, cols=2**20, nnz=2**26),
        *cases("large", "power_law", rows=2**18, cols=2**18, nnz=2**24),
        *cases("hidden", "integers", exact=True, rows=5000, cols=9973, nnz=100_003),
        *cases("hidden", "power_law", rows=4099, cols=[10_007, 3], nnz=65_537),
        *cases("hidden", "empty_rows", rows=2049, cols=4097, nnz=3000),
        *cases("hidden", "banded", rows=5000, cols=5000, nnz=99_999),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["nnz"],
    min_flops=lambda s: 2 * s["nnz"] - min(s["rows"], s["nnz"]),
    min_bytes=compulsory_bytes(CONTRACT, but=("x",)),
    waste="One atomic per entry, and a thread per column walks its entries alone, uncoalesced.",
    strategies=(
        "a warp per column",
        "neighbouring threads on neighbouring addresses",
        "long columns split",
        "read-only loads",
    ),
    notes="nnz is an argument here; columns may be empty or hold most of the matrix. y is overwritten. A conversion to "
    "rows is part of the call, on the device.",
)
