"""What goes wrong in hinge losses."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"loss": function(arrays["predictions"], arrays["targets"])}


def loss(p, y):
    return np.maximum(0.0, 1.0 - y * p)


MISTAKES = {
    "targets 0 and 1 assumed": by(lambda p, t: loss(p, 2.0 * t - 1.0)),
    "targets taken as signs": by(lambda p, t: loss(p, t)),
    "any positive target": by(lambda p, t: loss(p, np.where(t > 0, 1.0, -1.0))),
    "only the first element": by(lambda p, t: np.where(np.arange(p.size) < 1, loss(p, np.where(t == 1, 1, -1)), 0)),
    "only 1024 elements": by(lambda p, t: np.where(np.arange(p.size) < 1024, loss(p, np.where(t == 1, 1, -1)), 0)),
    "not clamped": by(lambda p, t: 1.0 - np.where(t == 1, 1, -1) * p),
    "squared": by(lambda p, t: loss(p, np.where(t == 1, 1, -1)) ** 2),
    "mean everywhere": by(lambda p, t: np.full_like(p, np.mean(loss(p, np.where(t == 1, 1, -1))))),
}
