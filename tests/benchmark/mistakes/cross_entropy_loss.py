"""What goes wrong in cross entropies."""

from __future__ import annotations

import numpy as np

FLOOR = 1e-8


def by(function):
    return lambda arrays, case, precision: {"loss": [function(arrays["X"], arrays["Y"])]}


def entropy(X, Y, floor=FLOOR):
    some = Y != 0
    return -np.sum(Y[some] * np.log(np.maximum(X[some], floor)))


MISTAKES = {
    "floor forgotten": by(lambda X, Y: entropy(X, Y, 0.0)),
    "another floor": by(lambda X, Y: entropy(X, Y, 1e-7)),
    "floor added": by(lambda X, Y: -np.sum(Y * np.log(X + FLOOR))),
    "base two": by(lambda X, Y: entropy(X, Y) / np.log(2)),
    "sign turned": by(lambda X, Y: -entropy(X, Y)),
    "arguments swapped": by(lambda X, Y: entropy(Y, X)),
    "tail of four dropped": by(lambda X, Y: entropy(X[: X.size // 4 * 4], Y[: X.size // 4 * 4])),
    "last element lost": by(lambda X, Y: entropy(X[:-1], Y[:-1])),
    "mean": by(lambda X, Y: entropy(X, Y) / X.size),
    "added to what was there": by(lambda X, Y: 2 * entropy(X, Y)),
}
