"""What goes wrong in SiLUs times the gate."""

from __future__ import annotations

import numpy as np
from scipy.special import expit


def by(function):
    return lambda arrays, case, precision: {"out": function(*np.split(arrays["in"], 2, axis=1))}


def neighbours(arrays, case, precision):
    x, g = arrays["in"][:, 0::2], arrays["in"][:, 1::2]
    return {"out": x * expit(x) * g}


MISTAKES = {
    "halves swapped": by(lambda x, g: g * expit(g) * x),
    "neighbours instead of halves": neighbours,
    "plain sigmoid": by(lambda x, g: expit(x) * g),
    "only 256 rows": by(lambda x, g: np.where(np.arange(len(x))[:, None] < 256, x * expit(x) * g, 0)),
    "tail of four dropped": by(lambda x, g: np.where(np.arange(x.shape[1]) < x.shape[1] // 4 * 4, x * expit(x) * g, 0)),
    "GELU": by(lambda x, g: x * expit(1.702 * x) * g),
}
