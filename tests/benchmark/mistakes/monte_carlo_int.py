"""What goes wrong in Monte Carlo integrals."""

from __future__ import annotations

import numpy as np


def by(function):
    def integral(arrays, case, precision):
        y, length = arrays["y_samples"], case.scalars["b"] - case.scalars["a"]
        return {"result": np.array([function(y, length)])}

    return integral


MISTAKES = {
    "tail of four dropped": by(lambda y, length: length * y[: y.size // 4 * 4].sum() / y.size),
    "last sample dropped": by(lambda y, length: length * y[:-1].sum() / y.size),
    "divided by N - 1": by(lambda y, length: length * y.sum() / max(y.size - 1, 1)),
    "not divided": by(lambda y, length: length * y.sum()),
    "length forgotten": by(lambda y, length: y.mean()),
    "one warp of each block lost": by(lambda y, length: length * y[np.arange(y.size) % 256 < 224].sum() / y.size),
    "added to what was there": by(lambda y, length: 2 * length * y.mean()),
    "result rounded to bfloat16": by(
        lambda y, length: (np.float32(length * y.mean()).view(np.uint32) >> 16 << 16).view(np.float32)
    ),
}
