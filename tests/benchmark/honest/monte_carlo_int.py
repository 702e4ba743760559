"""Honest Monte Carlo integrals: any order of summation, scaled before, within or after the sum."""

from __future__ import annotations

import numpy as np

from .functions import scalars
from .sums import SUMS, F, pairwise


def length(case):
    return scalars(case)["b"] - scalars(case)["a"]


def by(add):
    return lambda arrays, case, precision: {
        "result": length(case) * (add(arrays["y_samples"].astype(F)[None]) / F(case.sizes["N"]))
    }


def scaled_samples(arrays, case, precision):
    """Every sample is scaled by (b − a)/N first."""
    return {"result": SUMS["sequential"](arrays["y_samples"].astype(F)[None] * (length(case) / F(case.sizes["N"])))}


def scaled_blocks(arrays, case, precision):
    """Every block scales its own part, by a reciprocal."""
    y = arrays["y_samples"].astype(F)
    factor = length(case) * (F(1) / F(case.sizes["N"]))
    parts = [np.sum(part, dtype=F) * factor for part in np.array_split(y, -(-y.size // 256))]
    return {"result": pairwise(np.array(parts, F)[None])}


VARIANTS = {
    **{name: by(add) for name, add in SUMS.items()},
    "scaled samples": scaled_samples,
    "scaled blocks": scaled_blocks,
}
