"""What goes wrong in batch normalizations."""

from __future__ import annotations

import numpy as np


def by(statistics):
    """`statistics` returns mean and inverse deviation, each [1, C]."""

    def norm(arrays, case, precision):
        mean, inverse = statistics(arrays["in"], case.scalars["eps"])
        return {"out": (arrays["in"] - mean) * inverse * arrays["gamma"] + arrays["beta"]}

    return norm


def right(x, eps, rows=None, axis=0):
    part = x[:rows]
    return part.mean(axis=axis, keepdims=True), 1 / np.sqrt(part.var(axis=axis, keepdims=True) + eps)


def one_pass(x, eps):
    """E[x²] − mean² in float."""
    x = x.astype(np.float32)
    sums = [np.add.accumulate(t, axis=0, dtype=np.float32)[-1:] for t in (x, x * x)]
    mean, mean_square = (s / np.float32(len(x)) for s in sums)
    return mean, 1 / np.sqrt(mean_square - mean * mean + np.float32(eps))


def swapped(arrays, case, precision):
    mean, inverse = right(arrays["in"], case.scalars["eps"])
    return {"out": (arrays["in"] - mean) * inverse * arrays["beta"] + arrays["gamma"]}


MISTAKES = {
    "rows instead of columns": by(lambda x, eps: right(x, eps, axis=1)),
    "only 1024 rows": by(lambda x, eps: right(x, eps, rows=1024)),
    "power of two rows": by(lambda x, eps: right(x, eps, rows=1 << (len(x).bit_length() - 1))),
    "divided by N − 1": by(
        lambda x, eps: (right(x, eps)[0], 1 / np.sqrt(x.var(axis=0, keepdims=True, ddof=min(1, len(x) - 1)) + eps))
    ),
    "eps added to the deviation": by(lambda x, eps: (right(x, eps)[0], 1 / (x.std(axis=0, keepdims=True) + eps))),
    "mean not subtracted": by(lambda x, eps: (0.0, right(x, eps)[1])),
    "gamma and beta swapped": swapped,
}
ONLY_FP32 = {"E[x²] − mean²": by(one_pass)}
