"""Honest reversals: by index, by pairs."""

from __future__ import annotations

import numpy as np


def pairs(arrays, case, precision):
    x = arrays["in"]
    out, half = np.empty_like(x), (x.size + 1) // 2
    out[:half], out[x.size - half :] = x[::-1][:half], x[::-1][x.size - half :]
    return {"out": out}


VARIANTS = {
    "index": lambda arrays, case, precision: {"out": arrays["in"][case.sizes["N"] - 1 - np.arange(case.sizes["N"])]},
    "pairs": pairs,
}
