"""Honest GELUs: erf, erfc, and double inside."""

from __future__ import annotations

import numpy as np
from scipy.special import erf, erfc

from .sums import F

HALF, ONE, ROOT = F(0.5), F(1), F(0.70710678)


def by(gelu):
    return lambda arrays, case, precision: {"out": gelu(arrays["in"].astype(F))}


VARIANTS = {
    "erf": by(lambda x: HALF * x * (ONE + erf(x * ROOT))),
    "erf first": by(lambda x: x * (HALF * (ONE + erf(x * ROOT)))),
    "divided": by(lambda x: x * HALF * (erf(x / F(np.sqrt(2))) + ONE)),
    "erfc": by(lambda x: HALF * x * erfc(-x * ROOT)),
    "double": by(lambda x: (0.5 * x.astype(np.float64) * (1 + erf(x * np.sqrt(0.5)))).astype(F)),
}
