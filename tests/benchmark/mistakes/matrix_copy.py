"""What goes wrong in copies of matrices."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"B": function(arrays["A"])}


def row_stride_cut_to_fours(A):
    """As the vectorized kernel does whose rows start at m·(N/4·4)."""
    short, B = A.shape[1] // 4 * 4, np.zeros(A.size)
    for m, row in enumerate(A):
        B[m * short : m * short + short] = row[:short]
    return B.reshape(A.shape)


def without_the_tail(A):
    B = A.ravel().copy()
    B[B.size // 4 * 4 :] = 0
    return B.reshape(A.shape)


MISTAKES = {
    "row stride cut to a multiple of four": by(row_stride_cut_to_fours),
    "without the tail of the vectors": by(without_the_tail),
    "columns beyond a multiple of 16 lost": by(lambda A: np.where(np.arange(A.shape[1]) < A.shape[1] // 16 * 16, A, 0)),
    "NaN cleaned away": by(lambda A: np.nan_to_num(A) + 0.0),
}
