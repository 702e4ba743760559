"""What goes wrong in sparse products, whatever the format."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.sparse import Entries

from .honest.sparse import terms


def summed(entries, right, rows, kept=None):
    """Return the product [rows, 1 or K] of the entries kept."""
    products = entries.values[:, None] * right.reshape(len(right), -1)[entries.col]
    if kept is not None:
        products = np.where(kept[:, None], products, 0)
    out = np.zeros((rows, products.shape[1]))
    np.add.at(out, entries.row, products)
    return out


def by(read, function):
    def product(arrays, case, precision):
        right, name = (arrays["x"], "y") if "x" in arrays else (arrays["X"], "Y")
        out = function(read(arrays), right, case.sizes["rows"])
        return {name: out.reshape(-1, *right.shape[1:])}

    return product


def place_in_row(entries):
    """Return the how-many-th of its row each entry is."""
    order = np.argsort(entries.row, kind="stable")
    starts = np.cumsum(np.bincount(entries.row)) - np.bincount(entries.row)
    place = np.empty(order.size, int)
    place[order] = np.arange(order.size) - starts[entries.row[order]]
    return place


def duplicates_once(entries, right, rows):
    _, first = np.unique(np.stack([entries.row, entries.col]), axis=1, return_index=True)
    return summed(entries, right, rows, np.isin(np.arange(entries.row.size), first))


def lost_updates(entries, right, rows):
    """Plain stores in place of atomics: the last entry of a row wins."""
    out = np.zeros((rows, right[0].size))
    out[entries.row] = terms(entries, right)
    return out


def empty_rows_keep_the_last_sum(entries, right, rows):
    out = summed(entries, right, rows)
    empty = np.bincount(entries.row, minlength=rows) == 0
    return out[np.maximum.accumulate(np.where(empty, 0, np.arange(rows)))]


def columns_clipped(entries, right, rows):
    """Only the first 32 elements on the right are there, as in a fixed shared buffer."""
    return summed(entries, right, rows, entries.col < 32)


MISTAKES = {
    "rows longer than 32 cut": lambda e, right, rows: summed(e, right, rows, place_in_row(e) < 32),
    "first entry of each row skipped": lambda e, right, rows: summed(e, right, rows, place_in_row(e) > 0),
    "last block of entries lost": lambda e, right, rows: summed(
        e, right, rows, np.arange(e.row.size) < (e.row.size - 1) // 64 * 64
    ),
    "duplicates counted once": duplicates_once,
    "stores in place of atomics": lost_updates,
    "empty rows keep the last sum": empty_rows_keep_the_last_sum,
    "buffer of fixed length": columns_clipped,
    "rows and columns exchanged": lambda e, right, rows: summed(
        Entries(e.col % rows, e.row % len(right), e.values), right, rows
    ),
    "added to what was there": lambda e, right, rows: 2 * summed(e, right, rows),
    "right side ignored": lambda e, right, rows: summed(e, np.ones_like(right), rows),
}


def mistakes(read):
    return {name: by(read, function) for name, function in MISTAKES.items()}
