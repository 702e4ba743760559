"""Honest matrix products: inner products in any order, split, fused, and as tensor cores sum."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import Precision

from .sums import SUMS, F, truncating


def terms(arrays):
    return arrays["A"].astype(F)[:, None, :] * arrays["B"].astype(F).T[None]


def by(add):
    return lambda arrays, case, precision: {"C": add(terms(arrays))}


def fused(arrays, case, precision):
    """Fused multiply-adds along k."""
    total = np.zeros((case.sizes["M"], case.sizes["N"]), F)
    for a, b in zip(arrays["A"].T, arrays["B"], strict=True):
        total = (total.astype(np.float64) + np.outer(a, b)).astype(F)
    return {"C": total}


def tensor_core(arrays, case, precision):
    """bf16 products are exact, groups of 16 are summed and cut; float has no such path, so it stays plain."""
    return (
        {"C": truncating(terms(arrays), 16)}
        if precision is Precision.BF16
        else by(SUMS["split"])(arrays, case, precision)
    )


def blas(arrays, case, precision):
    """What a library does with floats."""
    return {"C": arrays["A"].astype(F) @ arrays["B"].astype(F)}


VARIANTS = {**{n: by(add) for n, add in SUMS.items()}, "fused": fused, "tensor core": tensor_core, "blas": blas}
