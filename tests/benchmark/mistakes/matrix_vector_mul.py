"""What goes wrong in matrix-vector products."""

from __future__ import annotations

import numpy as np

from .matrix_mul import half, tensor_float


def by(function):
    return lambda arrays, case, precision: {"y": function(arrays["A"], arrays["x"])}


def whole(length, width):
    return length // width * width


MISTAKES = {
    "columns beyond a multiple of 4 lost": by(lambda A, x: A[:, : whole(x.size, 4)] @ x[: whole(x.size, 4)]),
    "columns beyond a multiple of 32 lost": by(lambda A, x: A[:, : whole(x.size, 32)] @ x[: whole(x.size, 32)]),
    "rows beyond a multiple of 8 lost": by(lambda A, x: np.where(np.arange(len(A)) < whole(len(A), 8), A @ x, 0)),
    "only lane 0 adds": by(lambda A, x: A[:, ::32] @ x[::32]),
    "x staged up to 256": by(lambda A, x: A[:, :256] @ x[:256]),
    "one lane lost": by(lambda A, x: A @ np.where(np.arange(x.size) == 31, 0, x)),
    "accumulated in half": by(lambda A, x: np.cumsum(half(A * x), axis=1, dtype=np.float16)[:, -1] * 1.0),
}
ONLY_FP32 = {"TF32": by(lambda A, x: tensor_float(A) @ tensor_float(x)), "half": by(lambda A, x: half(A) @ half(x))}
