"""Sparse matrix times dense matrix, the sparse one in rows padded to one length (ELLPACK)."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task

CONTRACT = Contract(
    entry="spmm_ell",
    arguments=(
        size("rows"),
        size("cols"),
        size("max_nnz", "length of a padded row"),
        size("nnz", "entries, padding not counted"),
        size("K", "columns of the dense matrices"),
        array_in("values", "rows", "max_nnz", doc="0 in the padding"),
        array_in(
            "col_ids", "rows", "max_nnz", dtype=DType.I32, doc="-1 in the padding, which is at the end of each row"
        ),
        array_in("X", "cols", "K"),
        array_out("Y", "rows", "K"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_ell(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.ell(arrays), arrays, case, precision)


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    return sparse.sample(sparse.ell(arrays), arrays, case, precision, rng)


TASK = Task(
    name="spmm_ell",
    category="sparse",
    formula="Y[r, k] = Σ_{j: col_ids[r, j] ≥ 0} values[r, j]·X[col_ids[r, j], k]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 31], cols=[1, 77], max_nnz=[333, 350], nnz=333, K=[1, 33]),
        *cases("small", "integers", exact=True, rows=[3, 200], cols=77, max_nnz=[1, 9], nnz=[1, 2], K=17),
        *cases("small", "one_hot", exact=True, rows=50, cols=[33, 64], max_nnz=150, nnz=499, K=[1, 65]),
        *cases("small", rows=[33, 65], cols=[1, 100], max_nnz=[31, 32, 33], nnz=[64, 501], K=[15, 16]),
        *cases("small", "normal", rows=65, cols=200, max_nnz=70, nnz=1999, K=17),
        *cases("small", "wide_range", rows=40, cols=31, max_nnz=30, nnz=640, K=31),
        *cases("small", "power_law", rows=[129, 400], cols=300, max_nnz=[250, 450], nnz=2000, K=[7, 128]),
        *cases("small", "empty_rows", rows=[2, 129], cols=64, max_nnz=700, nnz=700, K=36),
        *cases("small", "banded", rows=150, cols=[100, 600], max_nnz=9, nnz=1200, K=20),
        *cases("small", "duplicates", rows=67, cols=50, max_nnz=15, nnz=1000, K=12),
        *(
            case
            for k in range(10, 15)
            for case in cases(
                "paper", rows=2048, cols=2**k, max_nnz=sparse.ell_length(2**k), nnz=2048 * 2**k // 100, K=4096
            )
        ),
        *cases("large", rows=2**17, cols=2**17, max_nnz=33, nnz=2**21, K=512),
        *cases("large", "power_law", rows=2**16, cols=2**16, max_nnz=128, nnz=2**20, K=1024),
        *cases("hidden", "integers", exact=True, rows=211, cols=500, max_nnz=701, nnz=10_007, K=[1, 97]),
        *cases("hidden", "power_law", rows=[1009, 13], cols=1031, max_nnz=700, nnz=8191, K=[130, 321]),
        *cases("hidden", "empty_rows", rows=4097, cols=149, max_nnz=10, nnz=3000, K=66),
        *cases("hidden", "banded", rows=1000, cols=1000, max_nnz=11, nnz=9999, K=255),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    legal=lambda case: case.sizes["nnz"] <= case.sizes["rows"] * case.sizes["max_nnz"],
    complexity=lambda s: s["nnz"] * s["K"],
    min_flops=lambda s: s["K"] * (2 * s["nnz"] - min(s["rows"], s["nnz"])),
    min_bytes=lambda s, precision: sparse.ell_bytes(s["nnz"], s["rows"] * s["K"], precision),
    waste="threadIdx.x runs along the rows, so that neighbouring threads are whole rows apart; padding is read too.",
    strategies=(
        "neighbouring threads on neighbouring addresses",
        "tiles in shared memory",
        "several columns per thread",
        "128-bit loads and stores",
    ),
    notes="cols and nnz are arguments here. Rows may be empty, and max_nnz may be more than the longest row. nnz·K "
    "is counted in 64 bits. The lower bound of bytes counts the entries without padding and leaves X out: which of its "
    "rows are read depends on the data.",
)
