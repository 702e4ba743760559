"""Products of sparse matrices in four formats, with a vector or a matrix: what the sparse tasks have in common.

Each format has a function that draws a case's arrays (`draw_coo`, …) and one that reads its entries (`coo`, …).
`product` is then the answer, and `sample` a part of it. The right side is `x` [cols] or `X` [cols, K], the result `y`
or `Y`.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import inputs, rounding, sampling
from .contract import DType, Precision
from .task import Arrays, Case, Drawn, Expected, Outputs

Float = NDArray[np.float64]
Whole = NDArray[np.int64]
PATTERNS: Final = ("power_law", "empty_rows", "banded", "duplicates", "random", "sorted")
"""Distributions that name the places of the entries; their values are uniform then."""


class Entries(NamedTuple):
    """The entries of a sparse matrix in any order: row, column and value of each. Duplicates add up."""

    row: Whole
    col: Whole
    values: Float


def draw_coo(case: Case, rng: Generator) -> Drawn:
    """Draw a matrix as a list of entries, and the right side."""
    row, col = inputs.coo(_pattern(case), case.sizes["rows"], case.sizes["cols"], case.sizes["nnz"], rng)
    return {"row_idx": row, "col_idx": col, **_values(case, rng)}


def draw_csr(case: Case, rng: Generator) -> Drawn:
    """Draw a matrix in compressed sparse rows, and the right side."""
    offsets, col = inputs.csr(_pattern(case), case.sizes["rows"], case.sizes["cols"], case.sizes["nnz"], rng)
    return {"row_offsets": offsets, "col_idx": col, **_values(case, rng)}


def draw_csc(case: Case, rng: Generator) -> Drawn:
    """Draw a matrix in compressed sparse columns, and the right side.

    Columns take the part that rows have in the other formats: `empty_rows` leaves columns empty.
    """
    offsets, row = inputs.csr(_pattern(case), case.sizes["cols"], case.sizes["rows"], case.sizes["nnz"], rng)
    return {"col_offsets": offsets, "row_idx": row, **_values(case, rng)}


def draw_ell(case: Case, rng: Generator) -> Drawn:
    """Draw a matrix in rows padded to one length, and the right side."""
    rows, cols, longest, nnz = (case.sizes[name] for name in ("rows", "cols", "max_nnz", "nnz"))
    columns = inputs.ell(_pattern(case, "random"), rows, cols, longest, nnz, rng)
    drawn = _values(case, rng)
    padded = np.zeros(columns.shape)
    padded[columns >= 0] = drawn["values"]
    return {**drawn, "col_ids": columns, "values": padded}


def _pattern(case: Case, default: str = "even") -> str:
    """Return where the entries of a case are; exact cases have rows of very different length."""
    if case.distribution in PATTERNS:
        return case.distribution
    return "power_law" if case.exact else default


def _values(case: Case, rng: Generator) -> Drawn:
    """Draw the right side and the values of the `nnz` entries."""
    nnz, cols, K = case.sizes["nnz"], case.sizes["cols"], case.sizes.get("K")
    distribution = "uniform" if case.distribution in PATTERNS else case.distribution
    # Transposed: `one_hot` is one 1 in each column, so that an output has one term but for duplicates.
    columns, values = inputs.factors(distribution, (cols,) if K is None else (K, cols), (nnz,), rng, terms=nnz)
    return {"values": values, "x" if K is None else "X": np.ascontiguousarray(columns.T)}


def coo(arrays: Arrays) -> Entries:
    """Read a list of entries."""
    return Entries(arrays["row_idx"], arrays["col_idx"], arrays["values"])


def csr(arrays: Arrays) -> Entries:
    """Read compressed sparse rows."""
    return Entries(_lines(arrays["row_offsets"]), arrays["col_idx"], arrays["values"])


def csc(arrays: Arrays) -> Entries:
    """Read compressed sparse columns."""
    return Entries(arrays["row_idx"], _lines(arrays["col_offsets"]), arrays["values"])


def ell(arrays: Arrays) -> Entries:
    """Read padded rows; a column of -1 is padding."""
    row, slot = np.nonzero(arrays["col_ids"] >= 0)
    return Entries(row, arrays["col_ids"][row, slot], arrays["values"][row, slot])


def _lines(offsets: Whole) -> Whole:
    """Return the row (or column) of each entry."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def product(entries: Entries, arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    """Return the product with the right side, with its bound."""
    rows = case.sizes["rows"]
    if "X" in arrays:
        return {"Y": _times_matrix(rows, entries, arrays["X"], case, precision)}
    products = entries.values * arrays["x"][entries.col]
    value = np.bincount(entries.row, products, minlength=rows).astype(np.float64)
    magnitude = np.bincount(entries.row, np.abs(products), minlength=rows).astype(np.float64)
    return {"y": _expected(value, magnitude, np.bincount(entries.row, minlength=rows), case, precision)}


def sample(entries: Entries, arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    """Return some rows of the product with a matrix, with their bounds."""
    rows = case.sizes["rows"]
    chosen = sampling.rows(rows, rng)
    place = np.full(rows, -1)
    place[chosen] = np.arange(chosen.size)
    row = place[entries.row]
    kept = row >= 0
    part = Entries(row[kept], entries.col[kept], entries.values[kept])
    expected = _times_matrix(chosen.size, part, arrays["X"], case, precision)
    return {"Y": expected.at(sampling.whole_rows(chosen, case.sizes["K"]))}


def _times_matrix(rows: int, entries: Entries, X: Float, case: Case, precision: Precision) -> Expected:
    from scipy.sparse import csr_matrix

    order = np.argsort(entries.row, kind="stable")
    lengths = np.bincount(entries.row, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values, columns, shape = entries.values[order], entries.col[order], (rows, len(X))
    # Two matrices: scipy's own abs() would add duplicates up first.
    value = csr_matrix((values, columns, offsets), shape) @ X
    magnitude = csr_matrix((np.abs(values), columns, offsets), shape) @ np.abs(X)
    return _expected(value, magnitude, lengths[:, None], case, precision)


def _expected(value: Float, magnitude: Float, lengths: Whole, case: Case, precision: Precision) -> Expected:
    if case.exact:
        return Expected(value)
    error = rounding.sum_error(magnitude, terms=lengths)
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


def ell_length(cols: int) -> int:
    """Return the padded length of rows with one entry in a hundred at random: that of the longest of 2048, nearly."""
    mean = cols / 100
    return math.ceil(mean + 4 * math.sqrt(mean))


def ell_bytes(nnz: int, outputs: int, precision: Precision) -> int:
    """Return the bytes that a product with padded rows has to move: value and column of each entry, each output."""
    itemsize = DType.STORAGE.resolve(precision).itemsize
    return nnz * (itemsize + DType.I32.itemsize) + outputs * itemsize
