"""What goes wrong in transposes."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"B": function(arrays["A"])}


def partial_tiles_lost(A, side=32):
    B = np.zeros(A.shape[::-1])
    whole = A.shape[0] // side * side, A.shape[1] // side * side
    B[: whole[1], : whole[0]] = A[: whole[0], : whole[1]].T
    return B


def tiles_not_turned(A, side=16):
    """Tiles change places, their insides don't."""
    B = A.T.copy()
    for m in range(0, A.shape[0] - side + 1, side):
        for n in range(0, A.shape[1] - side + 1, side):
            B[n : n + side, m : m + side] = A[m : m + side, n : n + side]
    return B


def without_a_barrier(A):
    """The last element of the first tile is read before it is written."""
    B = A.T.copy()
    B[min(31, B.shape[0] - 1), min(31, B.shape[1] - 1)] = B[0, 0]
    return B


MISTAKES = {
    "not transposed": by(lambda A: A.reshape(A.shape[::-1])),
    "partial tiles lost": by(partial_tiles_lost),
    "tiles not turned": by(tiles_not_turned),
    "without a barrier": by(without_a_barrier),
}
