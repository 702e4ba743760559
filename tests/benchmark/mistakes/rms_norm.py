"""What goes wrong in RMS normalizations."""

from __future__ import annotations

import numpy as np


def by(root):
    def norm(arrays, case, precision):
        return {"out": arrays["in"] / root(arrays["in"], case.scalars["eps"]) * arrays["weight"] + arrays["bias"]}

    return norm


def rms(x, eps, whole=1):
    part = x[:, : max(x.shape[1] // whole * whole, 1)]
    return np.sqrt(np.sum(part**2, axis=1, keepdims=True) / x.shape[1] + eps)


def without_bias(arrays, case, precision):
    return {"out": arrays["in"] / rms(arrays["in"], case.scalars["eps"]) * arrays["weight"]}


MISTAKES = {
    "mean subtracted": by(lambda x, eps: np.sqrt(x.var(axis=1, keepdims=True) + eps)),
    "not divided by N": by(lambda x, eps: np.sqrt(np.sum(x**2, axis=1, keepdims=True) + eps)),
    "eps outside the root": by(lambda x, eps: rms(x, 0.0) + eps),
    "root forgotten": by(lambda x, eps: rms(x, eps) ** 2),
    "one row's root for all": by(lambda x, eps: rms(x, eps)[:1]),
    "only whole warps summed": by(lambda x, eps: rms(x, eps, whole=32)),
    "only whole vectors summed": by(lambda x, eps: rms(x, eps, whole=4)),
    "bias forgotten": without_bias,
}
