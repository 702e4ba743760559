"""What goes wrong in sigmoids."""

from __future__ import annotations

import numpy as np
from scipy.special import expit


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"].astype(np.float32))}


MISTAKES = {
    "overflow of e^x": by(lambda x: np.exp(x) / (1 + np.exp(x))),
    "sign turned": by(lambda x: expit(-x)),
    "tanh in half": by(lambda x: 0.5 + 0.5 * np.tanh(0.5 * x).astype(np.float16).astype(np.float32)),
    "hard sigmoid": by(lambda x: np.clip(0.5 + 0.25 * x, 0, 1)),
    "clamped at 6": by(lambda x: expit(np.clip(x, -6, 6))),
    "tail of four dropped": by(lambda x: np.where(np.arange(x.size) < x.size // 4 * 4, expit(x), 0)),
}
