"""Honest sparse products in any format: the entries of a row in any order."""

from __future__ import annotations

import numpy as np

from .sums import SUMS, F


def terms(entries, right):
    """Return the product of each entry with its row of the vector or matrix on the right, [nnz, 1 or K], in float."""
    rows_of_right = right.reshape(len(right), -1)[entries.col].astype(F)
    return entries.values.astype(F)[:, None] * rows_of_right


def by(read, add):
    """Return a variant that sums the terms of each output with `add`."""

    def product(arrays, case, precision):
        name = "y" if "x" in arrays else "Y"
        entries, right = read(arrays), arrays["x" if "x" in arrays else "X"]
        order = np.argsort(entries.row, kind="stable")
        ends = np.cumsum(np.bincount(entries.row, minlength=case.sizes["rows"]))
        parts = np.split(terms(entries, right)[order], ends[:-1])
        empty = np.zeros(right[0].size, F)
        sums = np.stack([add(np.ascontiguousarray(part.T)) if len(part) else empty for part in parts])
        return {name: sums.reshape(-1, *right.shape[1:])}

    return product


def variants(read):
    return {name: by(read, add) for name, add in SUMS.items()}
