"""Honest copies: at once, element by element, a row at a time, flat."""

from __future__ import annotations

import numpy as np


def rows(arrays, case, precision):
    B = np.empty_like(arrays["A"])
    for m in range(case.sizes["M"]):
        B[m] = arrays["A"][m]
    return {"B": B}


def vectors(arrays, case, precision):
    """Four at a time over the flat array, then the tail."""
    flat, B = arrays["A"].ravel(), np.empty(arrays["A"].size)
    whole = flat.size // 4 * 4
    B[:whole] = flat[:whole].reshape(-1, 4).ravel()
    B[whole:] = flat[whole:]
    return {"B": B.reshape(arrays["A"].shape)}


VARIANTS = {"copy": lambda arrays, case, precision: {"B": arrays["A"].copy()}, "rows": rows, "vectors": vectors}
