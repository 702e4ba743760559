"""What goes wrong in sparse products."""

from __future__ import annotations

import numpy as np


def product(arrays, keep=None, rows=None):
    lengths = np.diff(arrays["row_offsets"])
    terms = arrays["values"] * arrays["x"][arrays["col_idx"]]
    within = np.arange(terms.size) - np.repeat(arrays["row_offsets"][:-1], lengths)
    return np.bincount(
        np.repeat(np.arange(lengths.size), lengths),
        np.where(keep(within), terms, 0) if keep else terms,
        minlength=lengths.size,
    )


def by(function):
    return lambda arrays, case, precision: {"y": function(arrays)}


def empty_rows_keep_the_last_sum(arrays):
    y, empty = product(arrays), np.diff(arrays["row_offsets"]) == 0
    last = np.maximum.accumulate(np.where(empty, 0, np.arange(y.size)))
    return y[last]


def duplicates_once(arrays):
    y = np.zeros(arrays["row_offsets"].size - 1)
    for row, (start, end) in enumerate(zip(arrays["row_offsets"], arrays["row_offsets"][1:], strict=False)):
        columns, first = np.unique(arrays["col_idx"][start:end], return_index=True)
        y[row] = arrays["values"][start:end][first] @ arrays["x"][columns]
    return y


MISTAKES = {
    "rows longer than 32 cut": by(lambda a: product(a, lambda within: within < 32)),
    "first entry skipped": by(lambda a: product(a, lambda within: within > 0)),
    "empty rows keep the last sum": by(empty_rows_keep_the_last_sum),
    "duplicates counted once": by(duplicates_once),
    "offsets shifted": by(lambda a: np.roll(product(a), 1)),
    "columns ignored": by(lambda a: product({**a, "col_idx": a["col_idx"] * 0})),
}
