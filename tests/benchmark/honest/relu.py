"""Honest ReLUs: a comparison, a maximum that keeps NaN, a product with a mask."""

from __future__ import annotations

import numpy as np

from .functions import inside

VARIANTS = {
    "comparison": inside(lambda x, case: np.where(x < 0, np.float32(0), x)),
    "maximum": inside(lambda x, case: np.maximum(x, np.float32(0))),
    "other comparison": inside(lambda x, case: np.where(~(x <= 0), x, np.float32(0))),
    "double": inside(lambda x, case: np.maximum(x.astype(np.float64), 0.0)),
}
