"""Sparse matrix times vector, the matrix in rows padded to one length (ELLPACK)."""

from __future__ import annotations

from numpy.random import Generator

from ... import sparse
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Outputs, Task

CONTRACT = Contract(
    entry="spmv_ell",
    arguments=(
        size("rows"),
        size("cols"),
        size("max_nnz", "length of a padded row"),
        size("nnz", "entries, padding not counted"),
        array_in("values", "rows", "max_nnz", doc="0 in the padding"),
        array_in(
            "col_ids", "rows", "max_nnz", dtype=DType.I32, doc="-1 in the padding, which is at the end of each row"
        ),
        array_in("x", "cols"),
        array_out("y", "rows"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return sparse.draw_ell(case, rng)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return sparse.product(sparse.ell(arrays), arrays, case, precision)


TASK = Task(
    name="spmv_ell",
    category="sparse",
    formula="y[r] = Σ_{j: col_ids[r, j] ≥ 0} values[r, j]·x[col_ids[r, j]]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=[1, 31, 200], cols=[1, 77], max_nnz=[333, 350], nnz=[1, 333]),
        *cases("small", "one_hot", exact=True, rows=100, cols=[33, 64], max_nnz=200, nnz=999),
        *cases("small", rows=[1, 33, 257], cols=[1, 100], max_nnz=70, nnz=[1, 64]),
        *cases("small", rows=[96, 257], cols=130, max_nnz=[31, 32, 33], nnz=1023),
        *cases("small", "normal", rows=65, cols=200, max_nnz=97, nnz=4099),
        *cases("small", "wide_range", rows=40, cols=31, max_nnz=30, nnz=640),
        *cases("small", "power_law", rows=[129, 513], cols=300, max_nnz=[250, 400], nnz=3000),
        *cases("small", "empty_rows", rows=[2, 129], cols=64, max_nnz=700, nnz=700),
        *cases("small", "banded", rows=300, cols=[100, 600], max_nnz=9, nnz=2500),
        *cases("small", "duplicates", rows=67, cols=50, max_nnz=15, nnz=1000),
        *(
            case
            for k in range(10, 16)
            for case in cases("paper", rows=2048, cols=2**k, max_nnz=sparse.ell_length(2**k), nnz=2048 * 2**k // 100)
        ),
        *cases("large", rows=2**20, cols=2**20, max_nnz=96, nnz=2**26),
        *cases("large", "power_law", rows=2**18, cols=2**18, max_nnz=256, nnz=2**23),
        *cases("hidden", "integers", exact=True, rows=1009, cols=5000, max_nnz=701, nnz=100_003),
        *cases("hidden", "power_law", rows=[2003, 61], cols=4099, max_nnz=1100, nnz=65_537),
        *cases("hidden", "empty_rows", rows=4097, cols=2049, max_nnz=20, nnz=3000),
        *cases("hidden", "banded", rows=5000, cols=5000, max_nnz=21, nnz=99_999),
    ),
    generate=generate,
    reference=reference,
    legal=lambda case: case.sizes["nnz"] <= case.sizes["rows"] * case.sizes["max_nnz"],
    complexity=lambda s: s["nnz"],
    min_flops=lambda s: 2 * s["nnz"] - min(s["rows"], s["nnz"]),
    min_bytes=lambda s, precision: sparse.ell_bytes(s["nnz"], s["rows"], precision),
    waste="A thread per row: neighbouring threads read a whole padded row apart, so that no access is coalesced.",
    strategies=(
        "a warp per row",
        "neighbouring threads on neighbouring addresses",
        "128-bit loads and stores",
        "read-only loads",
    ),
    notes="cols and nnz are arguments here. Rows may be empty, and max_nnz may be more than the longest row. The lower "
    "bound of bytes counts the entries without padding.",
)
