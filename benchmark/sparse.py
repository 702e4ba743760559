"""Products of sparse matrices, whatever their format: what the sparse tasks have in common."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import inputs, rounding, sampling
from .contract import DType, Precision
from .task import Case, Expected

Float = NDArray[np.float64]
PATTERNS: Final = ("power_law", "empty_rows", "banded", "duplicates", "random", "sorted")
"""Distributions that name the places of the entries; their values are uniform then."""


class Entries(NamedTuple):
    """The entries of a sparse matrix in any order: row, column and value of each. Duplicates add up."""

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    values: Float


def pattern_of(case: Case, default: str = "even") -> str:
    """Return where the entries of a case are; exact cases have rows of very different length."""
    if case.distribution in PATTERNS:
        return case.distribution
    return "power_law" if case.exact else default


def factors(case: Case, right: tuple[int, ...], rng: Generator) -> tuple[Float, Float]:
    """Draw the vector or matrix on the right, [cols] or [cols, K], and the values of the `nnz` entries."""
    nnz = case.sizes["nnz"]
    distribution = "uniform" if case.distribution in PATTERNS else case.distribution
    # Transposed: `one_hot` is one 1 in each column, so that an output has one term but for duplicates.
    columns, values = inputs.factors(distribution, right[::-1], (nnz,), rng, terms=nnz)
    return np.ascontiguousarray(columns.T), values


def times_vector(rows: int, entries: Entries, x: Float, case: Case, precision: Precision) -> Expected:
    """Return the product with a vector [cols] and its bound, [rows]."""
    products = entries.values * x[entries.col]
    value = np.bincount(entries.row, products, minlength=rows).astype(np.float64)
    magnitude = np.bincount(entries.row, np.abs(products), minlength=rows).astype(np.float64)
    return _expected(value, magnitude, np.bincount(entries.row, minlength=rows), case, precision)


def times_matrix(rows: int, entries: Entries, X: Float, case: Case, precision: Precision) -> Expected:
    """Return the product with a matrix [cols, K] and its bound, [rows, K]."""
    from scipy.sparse import csr_matrix

    order = np.argsort(entries.row, kind="stable")
    lengths = np.bincount(entries.row, minlength=rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values, columns, shape = entries.values[order], entries.col[order], (rows, len(X))
    # Two matrices: scipy's own abs() would add duplicates up first.
    value = csr_matrix((values, columns, offsets), shape) @ X
    magnitude = csr_matrix((np.abs(values), columns, offsets), shape) @ np.abs(X)
    return _expected(value, magnitude, lengths[:, None], case, precision)


def sample_times_matrix(
    rows: int, entries: Entries, X: Float, case: Case, precision: Precision, rng: Generator
) -> Expected:
    """Return some rows of the product with a matrix [cols, K], with their bounds."""
    chosen = sampling.rows(rows, rng)
    place = np.full(rows, -1)
    place[chosen] = np.arange(chosen.size)
    row = place[entries.row]
    kept = row >= 0
    part = times_matrix(chosen.size, Entries(row[kept], entries.col[kept], entries.values[kept]), X, case, precision)
    return part.at(sampling.whole_rows(chosen, X.shape[1]))


def _expected(value: Float, magnitude: Float, lengths: NDArray[np.int64], case: Case, precision: Precision) -> Expected:
    if case.exact:
        return Expected(value)
    error = rounding.sum_error(magnitude, terms=lengths)
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


def entries_of_ell(values: Float, col_ids: NDArray[np.int64]) -> Entries:
    """Return the entries of a matrix in padded rows; a column of -1 is padding."""
    row, slot = np.nonzero(col_ids >= 0)
    return Entries(row, col_ids[row, slot], values[row, slot])


def ell_bytes(nnz: int, outputs: int, precision: Precision) -> int:
    """Return the bytes that a product with padded rows has to move: value and column of each entry, each output."""
    itemsize = DType.STORAGE.resolve(precision).itemsize
    return nnz * (itemsize + DType.I32.itemsize) + outputs * itemsize
