"""Honest Simpson integrals: points or intervals, any order, scaled before or after the sum."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.tasks.simpson_int.task import weights

from .functions import scalars
from .sums import SUMS, F


def step(case):
    return (scalars(case)["b"] - scalars(case)["a"]) / F(case.sizes["N"] - 1)


def by(add):
    """Weighted points, scaled by h/24 at the end."""

    def integral(arrays, case, precision):
        terms = arrays["y_samples"].astype(F) * weights(case.sizes["N"]).astype(F)
        return {"result": add(terms[None]) * (step(case) / F(24))}

    return integral


def intervals(arrays, case, precision):
    """Each pair of intervals is scaled on its own, as by a thread with an atomic."""
    y, h, N = arrays["y_samples"].astype(F), step(case), case.sizes["N"]
    points = N if N % 2 == 1 else N - 3
    parts = [h / F(3) * (y[0 : points - 2 : 2] + F(4) * y[1 : points - 1 : 2] + y[2:points:2])] if points > 1 else []
    if points < N:
        parts.append(F(0.375) * h * (y[-4:-3] + F(3) * (y[-3:-2] + y[-2:-1]) + y[-1:]))
    return {"result": SUMS["sequential"](np.concatenate(parts)[None])}


def thirds(arrays, case, precision):
    """Weights 1/3, 4/3, 2/3, rounded to float, fused with the sum; h at the end."""
    N, total = case.sizes["N"], F(0)
    for weight, y in zip((weights(N) / 24).astype(F), arrays["y_samples"].astype(F), strict=True):
        total = F(np.float64(weight) * np.float64(y) + np.float64(total))
    return {"result": np.array([total * step(case)])}


def reciprocal(arrays, case, precision):
    """h by a reciprocal."""
    terms = arrays["y_samples"].astype(F) * weights(case.sizes["N"]).astype(F)
    h = (scalars(case)["b"] - scalars(case)["a"]) * (F(1) / F(case.sizes["N"] - 1))
    return {"result": SUMS["split"](terms[None]) * (h * F(1 / 24))}


VARIANTS = {
    **{name: by(add) for name, add in SUMS.items()},
    "intervals": intervals,
    "thirds": thirds,
    "reciprocal": reciprocal,
}
