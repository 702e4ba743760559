"""What goes wrong in ELUs."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"], case.scalars["alpha"])}


MISTAKES = {
    "alpha forgotten": by(lambda x, alpha: np.where(x < 0, np.expm1(x), x)),
    "one forgotten": by(lambda x, alpha: np.where(x < 0, alpha * np.exp(x), x)),
    "cubic series": by(lambda x, alpha: np.where(x < 0, alpha * (x + x**2 / 2 + x**3 / 6), x)),
    "plain ReLU": by(lambda x, alpha: np.maximum(x, 0)),
    "NaN becomes 0": by(lambda x, alpha: np.fmax(x, 0) + alpha * np.expm1(np.fmin(x, 0))),
    "tail of four dropped": by(
        lambda x, alpha: np.where(np.arange(x.size) < x.size // 4 * 4, np.where(x < 0, alpha * np.expm1(x), x), 0)
    ),
}
