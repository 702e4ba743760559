"""What goes wrong in Simpson integrals."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.tasks.simpson_int.task import weights


def by(function):
    def integral(arrays, case, precision):
        h = (case.scalars["b"] - case.scalars["a"]) / (case.sizes["N"] - 1)
        return {"result": np.array([function(arrays["y_samples"], h)])}

    return integral


def summed(y, h):
    return h / 24 * np.sum(weights(y.size) * y)


def last_interval_dropped(y, h):
    points = y.size if y.size % 2 == 1 else y.size - 1
    return summed(y[:points], h)


def last_interval_by_trapezoid(y, h):
    return last_interval_dropped(y, h) + (h / 2 * (y[-2] + y[-1]) if y.size % 2 == 0 else 0)


def weights_exchanged(y, h):
    w = weights(y.size)
    w[1:-1] = np.where(w[1:-1] == 16, 32, np.where(w[1:-1] == 32, 16, w[1:-1]))
    return h / 24 * np.sum(w * y)


MISTAKES = {
    "last interval dropped": by(last_interval_dropped),
    "last interval by a trapezoid": by(last_interval_by_trapezoid),
    "trapezoids": by(lambda y, h: h * (y.sum() - (y[0] + y[-1]) / 2)),
    "weights exchanged": by(weights_exchanged),
    "ends weigh twice": by(lambda y, h: summed(y, h) + h / 3 * (y[0] + y[-1])),
    "h from N points": by(lambda y, h: summed(y, h * (y.size - 1) / y.size)),
    "last thread's part lost": by(lambda y, h: summed(y, h) - h / 3 * y[-1]),
    "added to what was there": by(lambda y, h: 2 * summed(y, h)),
}
