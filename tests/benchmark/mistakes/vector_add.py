"""What goes wrong in sums of vectors."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"C": function(arrays["A"], arrays["B"])}


MISTAKES = {
    "difference": by(lambda a, b: a - b),
    "first vector twice": by(lambda a, b: a + a),
    "half": by(lambda a, b: (a.astype(np.float16) + b.astype(np.float16)).astype(np.float64)),
    "tail of four dropped": by(lambda a, b: np.where(np.arange(a.size) < a.size // 4 * 4, a + b, 0)),
    "only 1024 elements": by(lambda a, b: np.where(np.arange(a.size) < 1024, a + b, 0)),
}
