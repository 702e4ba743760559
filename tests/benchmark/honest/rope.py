"""Honest rotations: angles by a power, by exp2, from a table made in double; the fast sine and cosine."""

from __future__ import annotations

import numpy as np

from .sums import F


def by(frequency, off=0.0):
    def rope(arrays, case, precision):
        D, base = case.sizes["D"], F(case.scalars["base"])
        angle = np.arange(case.sizes["M"], dtype=F)[:, None] * frequency(base, np.arange(D // 2), D)
        error = F(off) * np.where(angle > 0, F(1), F(0))
        cosine, sine = (np.cos(angle) + error).astype(F), (np.sin(angle) - error).astype(F)
        x, y = arrays["in"][..., 0::2].astype(F), arrays["in"][..., 1::2].astype(F)
        return {"out": np.stack([x * cosine - y * sine, x * sine + y * cosine], -1).reshape(arrays["in"].shape)}

    return rope


def power(base, p, D):
    return np.power(base, F(-2) * p.astype(F) / F(D))


def base_two(base, p, D):
    return np.exp2(-p.astype(F) * (F(2) / F(D) * np.log2(base)))


def table(base, p, D):
    return (np.float64(base) ** (-2.0 * p / D)).astype(F)


VARIANTS = {
    "power": by(power),
    "base two": by(base_two),
    "table": by(table),
    "fast sine and cosine": by(base_two, off=2.0**-21.5),
}
