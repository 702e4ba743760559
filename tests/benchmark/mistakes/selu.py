"""What goes wrong in SELUs."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {
        "out": function(arrays["in"], case.scalars["alpha"], case.scalars["lambda"])
    }


def selu(x, alpha, scale):
    return scale * np.where(x < 0, alpha * np.expm1(x), x)


MISTAKES = {
    "usual constants": by(lambda x, alpha, scale: selu(x, 1.6732632, 1.0507010)),
    "constants of the paper": by(lambda x, alpha, scale: selu(x, 1.67, 1.0)),
    "lambda below 0 only": by(lambda x, alpha, scale: np.where(x < 0, scale * alpha * np.expm1(x), x)),
    "lambda above 0 only": by(lambda x, alpha, scale: np.where(x < 0, alpha * np.expm1(x), scale * x)),
    "constants swapped": by(lambda x, alpha, scale: selu(x, scale, alpha)),
    "NaN becomes 0": by(lambda x, alpha, scale: scale * (np.fmax(x, 0) + alpha * np.expm1(np.fmin(x, 0)))),
}
