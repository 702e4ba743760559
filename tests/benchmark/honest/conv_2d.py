"""Honest convolutions of images: the taps summed in any order, row by row, fused."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .sums import SUMS, F, sequential


def products(arrays):
    windows = sliding_window_view(arrays["input"].astype(F), arrays["kernel"].shape)
    return windows * arrays["kernel"].astype(F)


def by(add):
    def convolution(arrays, case, precision):
        terms = products(arrays)
        return {"output": add(terms.reshape(*terms.shape[:2], -1))}

    return convolution


def row_by_row(arrays, case, precision):
    """Each row of taps summed on its own."""
    return {"output": sequential(sequential(products(arrays)))}


def fused(arrays, case, precision):
    windows = sliding_window_view(arrays["input"], arrays["kernel"].shape)
    total = np.zeros(windows.shape[:2], F)
    for (i, j), w in np.ndenumerate(arrays["kernel"]):
        total = (total.astype(np.float64) + windows[:, :, i, j] * w).astype(F)
    return {"output": total}


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "row by row": row_by_row, "fused": fused}
