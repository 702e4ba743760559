"""Sparse matrix times vector, the matrix as a list of entries."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="spmv_coo",
    arguments=(
        size("rows"),
        size("cols"),
        size("nnz", "entries"),
        array_in("values", "nnz", doc="entries in any order; duplicates count twice"),
        array_in("row_idx", "nnz", dtype=DType.I32),
        array_in("col_idx", "nnz", dtype=DType.I32),
        array_in("x", "cols"),
        array_out("y", "rows", doc="0 for rows without entries"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_coo(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.coo(arrays), arrays, case, precision)


TASK = Task(
    name="spmv_coo",
    category="sparse",
    formula="y[r] = Σ_{k: row_idx[k] = r} values[k]·x[col_idx[k]]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 31, 1000], cols=[1, 77], nnz=[1, 333]),
        *cases("small", "one_hot", exact=True, rows=100, cols=[33, 64], nnz=999),
        *cases("small", rows=[1, 33, 257], cols=[1, 100], nnz=[1, 64, 1023]),
        *cases("small", "normal", rows=65, cols=200, nnz=4099),
        *cases("small", "wide_range", rows=40, cols=31, nnz=640),
        *cases("small", "power_law", rows=[513, 1500], cols=300, nnz=5000),
        *cases("small", "empty_rows", rows=[2, 129], cols=64, nnz=700),
        *cases("small", "banded", rows=300, cols=[100, 600], nnz=2500),
        *cases("small", "sorted", rows=[7, 500], cols=90, nnz=1999),
        *cases("small", "duplicates", rows=67, cols=50, nnz=1000),
        *(case for k in range(10, 16) for case in cases("paper", rows=2**k, cols=2048, nnz=2**k * 2048 // 100)),
        *cases("large", rows=2**20, cols=2**20, nnz=2**26),
        *cases("large", "power_law", rows=2**18, cols=2**18, nnz=2**24),
        *cases("large", "sorted", rows=2**20, cols=2**20, nnz=2**25),
        *cases("hidden", "integers", exact=True, rows=9973, cols=5000, nnz=100_003),
        *cases("hidden", "power_law", rows=[10_007, 3], cols=4099, nnz=65_537),
        *cases("hidden", "empty_rows", rows=4097, cols=2049, nnz=3000),
        *cases("hidden", "banded", rows=5000, cols=5000, nnz=99_999),
        *cases("hidden", "sorted", rows=[5, 3001], cols=777, nnz=50_001),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["nnz"],
    min_flops=lambda s: 2 * s["nnz"] - min(s["rows"], s["nnz"]),
    min_bytes=compulsory_bytes(CONTRACT, but=("x",)),
    waste="One atomic per entry; in bf16 all of y goes through a float buffer and a second launch besides.",
    strategies=(
        "sums by warp shuffles",
        "several entries per thread",
        "128-bit loads and stores",
        "read-only loads",
    ),
    notes="cols is an argument here; entries need not be sorted, rows may be empty. y is overwritten. The float buffer "
    "of bf16 lies in the workspace: no allocation in the call.",
)
