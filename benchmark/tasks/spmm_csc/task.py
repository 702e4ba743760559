"""Sparse matrix times dense matrix, the sparse one in compressed sparse columns."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="spmm_csc",
    arguments=(
        size("rows"),
        size("cols"),
        size("nnz", "entries"),
        size("K", "columns of the dense matrices"),
        array_in("values", "nnz"),
        array_in("row_idx", "nnz", dtype=DType.I32, doc="within a column unsorted, duplicates count twice"),
        array_in("col_offsets", "cols + 1", dtype=DType.I32, doc="from 0 to nnz, ascending; a column may be empty"),
        array_in("X", "cols", "K"),
        array_out("Y", "rows", "K", doc="0 in rows without entries"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_csc(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.csc(arrays), arrays, case, precision)


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    return sparse.sample(sparse.csc(arrays), arrays, case, precision, rng)


TASK = Task(
    name="spmm_csc",
    category="sparse",
    formula="Y[r, k] = Σ_c Σ_{e: row_idx[e] = r} values[e]·X[c, k], col_offsets[c] ≤ e < col_offsets[c+1]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 77], cols=[1, 31, 200], nnz=[1, 333], K=[1, 33]),
        *cases("small", "one_hot", exact=True, rows=50, cols=[33, 64], nnz=499, K=[1, 65]),
        *cases("small", rows=[1, 100], cols=[1, 33], nnz=[1, 64, 501], K=[15, 16, 64]),
        *cases("small", "normal", rows=65, cols=200, nnz=1999, K=17),
        *cases("small", "wide_range", rows=40, cols=31, nnz=640, K=31),
        *cases("small", "power_law", rows=300, cols=[129, 600], nnz=2500, K=[7, 128]),
        *cases("small", "empty_rows", rows=64, cols=[2, 129], nnz=700, K=36),
        *cases("small", "banded", rows=[100, 600], cols=150, nnz=1200, K=20),
        *cases("small", "duplicates", rows=50, cols=67, nnz=1000, K=12),
        *(
            case
            for k in (10, 11, 12, 13, 14)
            for case in cases("paper", rows=2048, cols=2**k, nnz=2**k * 2048 // 100, K=4096)
        ),
        *cases("large", rows=2**17, cols=2**17, nnz=2**21, K=512),
        *cases("large", "power_law", rows=2**16, cols=2**16, nnz=2**20, K=1024),
        *cases("hidden", "integers", exact=True, rows=500, cols=511, nnz=10_007, K=[1, 97]),
        *cases("hidden", "power_law", rows=1031, cols=[1009, 3], nnz=8191, K=[130, 321]),
        *cases("hidden", "empty_rows", rows=149, cols=4097, nnz=3000, K=66),
        *cases("hidden", "banded", rows=1000, cols=1000, nnz=9999, K=255),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["nnz"] * s["K"],
    min_flops=lambda s: s["K"] * (2 * s["nnz"] - min(s["rows"], s["nnz"])),
    min_bytes=compulsory_bytes(CONTRACT, but=("X",)),
    waste="One atomic to device memory per entry and column of Y, and neighbouring threads are a whole row of X apart.",
    strategies=(
        "neighbouring threads on neighbouring addresses",
        "converted to rows on the device first",
        "128-bit loads and stores",
        "long columns split",
    ),
    notes="nnz is an argument here; columns may be empty or hold most of the matrix. Y is overwritten. A conversion to "
    "rows is part of the call, on the device. nnz·K is counted in 64 bits. Which rows of X are read depends on the "
    "data, so that the lower bound of bytes leaves X out.",
)
