"""What goes wrong in mean squared errors."""

from __future__ import annotations

import numpy as np


def squares(arrays):
    return (arrays["X"] - arrays["Y"]) ** 2


def by(function):
    return lambda arrays, case, precision: {"loss": [function(squares(arrays), case.sizes["N"])]}


MISTAKES = {
    "not divided": by(lambda t, n: t.sum()),
    "divided by N − 1": by(lambda t, n: t.sum() / max(n - 1, 1) if n > 1 else 0.0),
    "divided twice": by(lambda t, n: t.sum() / n / n),
    "tail of four dropped": by(lambda t, n: t[: n // 4 * 4].sum() / n),
    "last element lost": by(lambda t, n: t[:-1].sum() / n),
    "one partial twice": by(lambda t, n: (t.sum() + t[0]) / n),
    "added to what was there": by(lambda t, n: (t.mean() + t.sum()) / n),
    "root": by(lambda t, n: np.sqrt(t.mean())),
    "absolute": by(lambda t, n: np.sqrt(t).mean()),
}
