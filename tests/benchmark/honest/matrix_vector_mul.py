"""Honest matrix-vector products: each row summed in any order, split, fused, and as tensor cores sum."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Precision

from .sums import SUMS, F, truncating


def by(add):
    return lambda arrays, case, precision: {"y": add(arrays["A"].astype(F) * arrays["x"].astype(F))}


def fused(arrays, case, precision):
    """Fused multiply-adds along the row."""
    total = np.zeros(case.sizes["M"], F)
    for a, x in zip(arrays["A"].T, arrays["x"], strict=True):
        total = (total.astype(np.float64) + a * x).astype(F)
    return {"y": total}


def tensor_core(arrays, case, precision):
    """bf16 products are exact, groups of 16 are summed and cut; float has no such path."""
    add = SUMS["split"] if precision is Precision.FP32 else lambda terms: truncating(terms, 16)
    return by(add)(arrays, case, precision)


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "fused": fused, "tensor core": tensor_core}
