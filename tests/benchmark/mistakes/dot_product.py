"""What goes wrong in dot products."""

from __future__ import annotations

import numpy as np


def products(arrays):
    return arrays["x"] * arrays["y"]


MISTAKES = {
    "tail of four dropped": lambda a, case, p: {"result": [products(a)[: a["x"].size // 4 * 4].sum()]},
    "last block dropped": lambda a, case, p: {"result": [products(a)[: (a["x"].size - 1) // 256 * 256].sum()]},
    "one warp of each block lost": lambda a, case, p: {
        "result": [products(a)[np.arange(a["x"].size) % 256 >= 32].sum()]
    },
    "one thread's partial added twice": lambda a, case, p: {"result": [products(a).sum() + products(a)[0]]},
    "added to what was there": lambda a, case, p: {"result": [products(a).sum() * 2]},
    "products in the storage type's half": lambda a, case, p: {
        "result": [(a["x"].astype(np.float16) * a["y"].astype(np.float16)).astype(np.float64).sum()]
    },
}
