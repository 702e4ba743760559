"""What goes wrong in layer normalizations."""

from __future__ import annotations

import numpy as np


def by(statistics):
    """`statistics` returns mean and inverse deviation, each [rows, 1]."""

    def norm(arrays, case, precision):
        mean, inverse = statistics(arrays["in"], case.scalars["eps"])
        return {"out": (arrays["in"] - mean) * inverse * arrays["weight"] + arrays["bias"]}

    return norm


def right(x, eps, whole=None):
    part = x if whole is None else x[:, : max(x.shape[1] // whole * whole, 1)]
    return part.mean(axis=1, keepdims=True), 1 / np.sqrt(part.var(axis=1, keepdims=True) + eps)


def unbiased(x, eps):
    return x.mean(axis=1, keepdims=True), 1 / np.sqrt(x.var(axis=1, keepdims=True, ddof=min(1, x.shape[1] - 1)) + eps)


def one_pass(x, eps):
    """E[x²] − mean² in float."""
    x = x.astype(np.float32)
    sums = [np.add.accumulate(t, axis=1, dtype=np.float32)[:, -1:] for t in (x, x * x)]
    mean, mean_square = (s / np.float32(x.shape[1]) for s in sums)
    return mean, 1 / np.sqrt(mean_square - mean * mean + np.float32(eps))


def without(name):
    def norm(arrays, case, precision):
        mean, inverse = right(arrays["in"], case.scalars["eps"])
        weight = 1.0 if name == "weight" else arrays["weight"]
        return {"out": (arrays["in"] - mean) * inverse * weight + (0.0 if name == "bias" else arrays["bias"])}

    return norm


MISTAKES = {
    "divided by N − 1": by(unbiased),
    "eps forgotten": by(
        lambda x, eps: (right(x, eps)[0], 1 / np.sqrt(np.maximum(x.var(axis=1, keepdims=True), 1e-30)))
    ),
    "eps added to the deviation": by(lambda x, eps: (right(x, eps)[0], 1 / (x.std(axis=1, keepdims=True) + eps))),
    "mean not subtracted": by(lambda x, eps: (0.0, right(x, eps)[1])),
    "one row's statistics for all": by(lambda x, eps: (right(x, eps)[0][:1], right(x, eps)[1][:1])),
    "only whole warps summed": by(lambda x, eps: right(x, eps, whole=32)),
    "only whole vectors summed": by(lambda x, eps: right(x, eps, whole=4)),
    "weight forgotten": without("weight"),
    "bias forgotten": without("bias"),
}
ONLY_FP32 = {"E[x²] − mean²": by(one_pass)}
