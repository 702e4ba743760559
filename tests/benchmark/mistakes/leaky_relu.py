"""What goes wrong in leaky ReLUs."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"], case.scalars["alpha"])}


MISTAKES = {
    "plain ReLU": by(lambda x, alpha: np.maximum(x, 0)),
    "alpha of the paper": by(lambda x, alpha: np.where(x < 0, 0.01 * x, x)),
    "NaN becomes 0": by(lambda x, alpha: np.fmax(x, 0) + alpha * np.fmin(x, 0)),
    "sign turned": by(lambda x, alpha: np.where(x < 0, -alpha * x, x)),
    "one percent off": by(lambda x, alpha: np.where(x < 0, 1.01 * alpha * x, x)),
    "tail of four dropped": by(
        lambda x, alpha: np.where(np.arange(x.size) < x.size // 4 * 4, np.where(x < 0, alpha * x, x), 0)
    ),
}
