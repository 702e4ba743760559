"""What goes wrong in SwiGLUs."""

from __future__ import annotations

import numpy as np
from scipy.special import expit


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["gate"], arrays["value"], case.scalars["beta"])}


MISTAKES = {
    "beta forgotten": by(lambda g, v, beta: g * expit(g) * v),
    "beta outside": by(lambda g, v, beta: beta * g * expit(g) * v),
    "gate and value swapped": by(lambda g, v, beta: v * expit(beta * v) * g),
    "gate not multiplied": by(lambda g, v, beta: expit(beta * g) * v),
    "gate by tanh in half": by(lambda g, v, beta: g * v * (0.5 + 0.5 * np.tanh(beta * g / 2).astype(np.float16))),
    "overflow of e^x": by(
        lambda g, v, beta: g * np.exp((beta * g).astype(np.float32)) / (1 + np.exp((beta * g).astype(np.float32))) * v
    ),
    "tail of four dropped": by(
        lambda g, v, beta: np.where(np.arange(g.size) < g.size // 4 * 4, g * expit(beta * g) * v, 0)
    ),
}
