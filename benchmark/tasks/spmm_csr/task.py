"""Sparse matrix times dense matrix, the sparse one in compressed sparse rows."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="spmm_csr",
    arguments=(
        size("rows"),
        size("cols"),
        size("nnz", "entries"),
        size("K", "columns of the dense matrices"),
        array_in("values", "nnz"),
        array_in("col_idx", "nnz", dtype=DType.I32, doc="within a row unsorted, duplicates count twice"),
        array_in("row_offsets", "rows + 1", dtype=DType.I32, doc="from 0 to nnz, ascending; a row may be empty"),
        array_in("X", "cols", "K"),
        array_out("Y", "rows", "K"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_csr(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.csr(arrays), arrays, case, precision)


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    return sparse.sample(sparse.csr(arrays), arrays, case, precision, rng)


TASK = Task(
    name="spmm_csr",
    category="sparse",
    formula="Y[r, k] = Σ_{e = row_offsets[r]}^{row_offsets[r+1]−1} values[e]·X[col_idx[e], k]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 31, 200], cols=[1, 77], nnz=[1, 333], K=[1, 33]),
        *cases("small", "one_hot", exact=True, rows=50, cols=[33, 64], nnz=499, K=[1, 65]),
        *cases("small", rows=[1, 33], cols=[1, 100], nnz=[1, 64, 501], K=[15, 16, 64]),
        *cases("small", "normal", rows=65, cols=200, nnz=1999, K=17),
        *cases("small", "wide_range", rows=40, cols=31, nnz=640, K=31),
        *cases("small", "power_law", rows=[129, 600], cols=300, nnz=2500, K=[7, 128]),
        *cases("small", "empty_rows", rows=[2, 129], cols=64, nnz=700, K=36),
        *cases("small", "banded", rows=150, cols=[100, 600], nnz=1200, K=20),
        *cases("small", "duplicates", rows=67, cols=50, nnz=1000, K=12),
        *(
            case
            for k in (10, 12, 14, 16, 18)
            for case in cases("paper", rows=2**k, cols=2048, nnz=2**k * 2048 // 100, K=4096)
        ),
        *cases("large", rows=2**17, cols=2**17, nnz=2**21, K=512),
        *cases("large", "power_law", rows=2**16, cols=2**16, nnz=2**20, K=1024),
        *cases("hidden", "integers", exact=True, rows=511, cols=500, nnz=10_007, K=[1, 97]),
        *cases("hidden", "power_law", rows=[1009, 3], cols=1031, nnz=8191, K=[130, 321]),
        *cases("hidden", "empty_rows", rows=4097, cols=149, nnz=3000, K=66),
        *cases("hidden", "banded", rows=1000, cols=1000, nnz=9999, K=255),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["nnz"] * s["K"],
    min_flops=lambda s: s["K"] * (2 * s["nnz"] - min(s["rows"], s["nnz"])),
    min_bytes=compulsory_bytes(CONTRACT, but=("X",)),
    waste="Every thread reads the values and columns of its row again for its one element of Y.",
    strategies=(
        "several columns per thread",
        "128-bit loads and stores",
        "tiles in shared memory",
        "work shared evenly between rows of any length",
        "unrolled loops",
    ),
    notes="cols and nnz are arguments here; rows may be empty or hold most of the matrix. nnz·K is counted in "
    "64 bits. Which rows of X are read depends on the data, so that the lower bound of bytes leaves X out.",
)
