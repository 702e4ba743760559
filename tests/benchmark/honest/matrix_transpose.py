"""Honest transposes: by index, in tiles."""

from __future__ import annotations

import numpy as np


def tiles(arrays, case, precision, side=32):
    A = arrays["A"]
    B = np.empty(A.shape[::-1])
    for m in range(0, A.shape[0], side):
        for n in range(0, A.shape[1], side):
            B[n : n + side, m : m + side] = A[m : m + side, n : n + side].T
    return {"B": B}


def by_index(arrays, case, precision):
    n, m = np.divmod(np.arange(arrays["A"].size), case.sizes["M"])
    return {"B": arrays["A"][m, n].reshape(arrays["A"].shape[::-1])}


VARIANTS = {"by index": by_index, "tiles": tiles}
