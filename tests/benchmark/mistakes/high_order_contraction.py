"""What goes wrong in contractions."""

from __future__ import annotations

import numpy as np

from .matrix_mul import half, tensor_float


def by(function):
    return lambda arrays, case, precision: {"C": function(arrays["A"], arrays["B"])}


def contract(A, B):
    return np.einsum("axby,xcy->abc", A, B, optimize=True)


def scrambled(array, order):
    """The array read as if its axes lay in another order."""
    return array.transpose(order).reshape(array.shape)


def rows_beyond_a_tile_dropped(A, B):
    C = contract(A, B)
    C[:, C.shape[1] // 16 * 16 :] = 0
    return C


MISTAKES = {
    "last x dropped": by(lambda A, B: contract(A[:, :-1], B[:-1])),
    "last y dropped": by(lambda A, B: contract(A[..., :-1], B[..., :-1])),
    "y beyond a multiple of 4 dropped": by(
        lambda A, B: contract(A[..., : A.shape[3] // 4 * 4], B[..., : A.shape[3] // 4 * 4])
    ),
    "A as [a, b, x, y]": by(lambda A, B: contract(scrambled(A, (0, 2, 1, 3)), B)),
    "B as [x, y, c]": by(lambda A, B: contract(A, scrambled(B, (0, 2, 1)))),
    "C as [a, c, b]": by(lambda A, B: contract(A, B).transpose(0, 2, 1).reshape(contract(A, B).shape)),
    "b beyond a multiple of 16 dropped": by(rows_beyond_a_tile_dropped),
}
ONLY_FP32 = {
    "TF32": by(lambda A, B: contract(tensor_float(A), tensor_float(B))),
    "half": by(lambda A, B: contract(half(A), half(B))),
}
