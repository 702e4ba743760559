"""What goes wrong in GELUs."""

from __future__ import annotations

import numpy as np
from scipy.special import erf, expit


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"])}


MISTAKES = {
    "tanh approximation": by(lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))),
    "sigmoid approximation": by(lambda x: x * expit(1.702 * x)),
    "ReLU": by(lambda x: np.maximum(x, 0)),
    "root of two forgotten": by(lambda x: 0.5 * x * (1 + erf(x))),
    "factor forgotten": by(lambda x: x * (1 + erf(x / np.sqrt(2)))),
    "erf in half": by(lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)).astype(np.float16).astype(np.float64))),
    "tail of four dropped": by(
        lambda x: np.where(np.arange(x.size) < x.size // 4 * 4, 0.5 * x * (1 + erf(x / np.sqrt(2))), 0)
    ),
}
