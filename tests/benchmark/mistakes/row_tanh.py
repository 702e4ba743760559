"""What goes wrong in hyperbolic tangents."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"].astype(np.float32))}


MISTAKES = {
    "overflow": by(lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)),
    "two forgotten": by(lambda x: 1 - 2 / (np.exp(x) + 1)),
    "rational approximation": by(lambda x: np.clip(x * (27 + x**2) / (27 + 9 * x**2), -1, 1)),
    "NaN clamped": by(lambda x: np.tanh(np.fmin(np.fmax(x, -9), 9))),
    "tail of four dropped": by(lambda x: np.where(np.arange(x.size) < x.size // 4 * 4, np.tanh(x), 0)),
}
ONLY_FP32 = {
    "the hardware's approximation": by(lambda x: np.tanh(x) * np.float32(1 + 2.0**-12)),
    "half": by(lambda x: np.tanh(x).astype(np.float16).astype(np.float32)),
}
