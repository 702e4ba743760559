"""Honest convolutions: the taps summed in any order, split, fused, in double."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .sums import SUMS, F


def windows(arrays):
    return sliding_window_view(arrays["input"], arrays["kernel"].size)


def by(add):
    return lambda arrays, case, precision: {"output": add(windows(arrays).astype(F) * arrays["kernel"].astype(F))}


def fused(arrays, case, precision):
    """Fused multiply-adds along the taps."""
    total = np.zeros(len(windows(arrays)), F)
    for x, w in zip(windows(arrays).T, arrays["kernel"], strict=True):
        total = (total.astype(np.float64) + x * w).astype(F)
    return {"output": total}


def double(arrays, case, precision):
    return {"output": (windows(arrays) @ arrays["kernel"]).astype(F)}


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "fused": fused, "double": double}
