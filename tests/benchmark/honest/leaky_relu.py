"""Honest leaky ReLUs."""

from __future__ import annotations

import numpy as np

from .functions import inside
from .sums import F


def alpha(case):
    return F(case.scalars["alpha"])


VARIANTS = {
    "comparison": inside(lambda x, case: np.where(x < 0, alpha(case) * x, x)),
    "other comparison": inside(lambda x, case: np.where(x > 0, x, alpha(case) * x)),
    "slope chosen": inside(lambda x, case: x * np.where(x < 0, alpha(case), F(1))),
    "double": inside(lambda x, case: np.where(x < 0, np.float64(alpha(case)) * x, x)),
}
