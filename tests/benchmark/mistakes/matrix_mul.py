"""What goes wrong in matrix products."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"C": function(arrays["A"], arrays["B"])}


def last_tile_of_k_dropped(A, B):
    whole = A.shape[1] // 16 * 16
    return A[:, :whole] @ B[:whole]


def half(array):
    return array.astype(np.float16).astype(np.float64)


def tensor_float(array):
    """10 explicit bits of significand, as TF32."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


def without_a_barrier(A, B):
    """One element of the last tile is read before it is written."""
    A = A.copy()
    A[-1, -1] = A[-1, 0]
    return A @ B


MISTAKES = {
    "last tile of k dropped": by(last_tile_of_k_dropped),
    "rows beyond a multiple of 16 dropped": by(
        lambda A, B: np.where(np.arange(len(A))[:, None] < len(A) // 16 * 16, A @ B, 0)
    ),
    "columns beyond a multiple of 32 dropped": by(
        lambda A, B: np.where(np.arange(B.shape[1]) < B.shape[1] // 32 * 32, A @ B, 0)
    ),
    "last k dropped": by(lambda A, B: A[:, :-1] @ B[:-1]),
    "without a barrier": by(without_a_barrier),
    "accumulated in half": by(
        lambda A, B: np.cumsum(half(A[:, :, None] * B[None]), axis=1, dtype=np.float16)[:, -1] * 1.0
    ),
}
ONLY_FP32 = {"TF32": by(lambda A, B: tensor_float(A) @ tensor_float(B)), "half": by(lambda A, B: half(A) @ half(B))}
