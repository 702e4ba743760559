"""Honest dot products: products in float, summed in any order; fused or not."""

from __future__ import annotations

import numpy as np

from .sums import SUMS, F


def fused(arrays, case, precision):
    """One thread of fused multiply-adds."""
    total = F(0)
    for product in (arrays["x"] * arrays["y"])[:5000]:
        total = F(np.float64(total) + product)
    rest = np.float64((arrays["x"] * arrays["y"])[5000:].astype(F).sum(dtype=F))
    return {"result": np.array([total + rest])}


def by(add):
    return lambda arrays, case, precision: {"result": add((arrays["x"].astype(F) * arrays["y"].astype(F))[None])}


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "fused": fused}
