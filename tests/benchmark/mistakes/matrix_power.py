"""What goes wrong in powers of matrices."""

from __future__ import annotations

import numpy as np

from .matrix_mul import half, tensor_float


def by(power):
    return lambda arrays, case, precision: {"B": power(arrays["A"], case.sizes["P"])}


def chain(multiply):
    def power(A, P):
        X = A
        for _ in range(P - 1):
            X = multiply(X, A)
        return X

    return by(power)


def a_tile_dropped(X, A):
    whole = len(A) // 16 * 16
    return X[:, :whole] @ A[:whole]


def a_term_lost(X, A):
    A = A.copy()
    A[-1] = 0
    return X @ A


def rounded_up_to_a_power_of_two(A, P):
    return np.linalg.matrix_power(A, 1 << (P - 1).bit_length())


MISTAKES = {
    "a factor too many": by(lambda A, P: np.linalg.matrix_power(A, P + 1)),
    "a factor too few": by(lambda A, P: np.linalg.matrix_power(A, max(P - 1, 1))),
    "always squared": by(lambda A, P: np.linalg.matrix_power(A, max(P, 2))),
    "only powers of two": by(rounded_up_to_a_power_of_two),
    "elements to the power": by(lambda A, P: A**P),
    "transposed": by(lambda A, P: np.linalg.matrix_power(A, P).T),
    "last tile of k dropped": chain(a_tile_dropped),
    "last term lost": chain(a_term_lost),
    "in half": chain(lambda X, A: half(half(X) @ half(A))),
}
ONLY_FP32 = {"TF32": chain(lambda X, A: tensor_float(X) @ tensor_float(A))}
