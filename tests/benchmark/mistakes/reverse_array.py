"""What goes wrong in reversals."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"])}


def vectors_only(x):
    """Vectors of four change places, but their elements keep their order."""
    whole = x.size // 4 * 4
    return np.concatenate([x[whole:][::-1], x[:whole].reshape(-1, 4)[::-1].ravel()])


def middle_forgotten(x):
    out = x[::-1].copy()
    if x.size % 2:
        out[x.size // 2] = 0
    return out


MISTAKES = {
    "not reversed": by(lambda x: x),
    "one off": by(lambda x: np.roll(x[::-1], 1)),
    "order inside vectors kept": by(vectors_only),
    "middle element forgotten": by(middle_forgotten),
    "second half only": by(lambda x: np.where(np.arange(x.size) < x.size // 2, x, x[::-1])),
}
