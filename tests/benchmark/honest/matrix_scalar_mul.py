"""Honest products with a number: in float, in double, fused, the other way round."""

from __future__ import annotations

import numpy as np

from .sums import F


def by(multiply):
    return lambda arrays, case, precision: {"B": multiply(arrays["A"], F(case.scalars["scalar"]))}


VARIANTS = {
    "float": by(lambda A, s: A.astype(F) * s),
    "double": by(lambda A, s: (A * np.float64(s)).astype(F)),
    "fused": by(lambda A, s: (A * np.float64(s) + 0.0).astype(F)),
    "swapped": by(lambda A, s: s * A.astype(F)),
}
