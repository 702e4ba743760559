"""What goes wrong in rotations."""

from __future__ import annotations

import numpy as np


def by(angle, halves=False, sign=1.0):
    def rope(arrays, case, precision):
        x, D = arrays["in"], case.sizes["D"]
        theta = angle(np.arange(case.sizes["M"])[:, None], np.arange(D // 2), D, np.float64(case.scalars["base"]))
        cosine, sine = np.cos(theta), sign * np.sin(theta)
        a, b = (x[..., : D // 2], x[..., D // 2 :]) if halves else (x[..., 0::2], x[..., 1::2])
        first, second = a * cosine - b * sine, a * sine + b * cosine
        joined = np.concatenate([first, second], -1) if halves else np.stack([first, second], -1).reshape(x.shape)
        return {"out": joined}

    return rope


def right(m, p, D, base):
    return m * base ** (-2 * p / D)


def position_over_the_batch(arrays, case, precision):
    """The row of the whole array taken for the position."""
    batch, M = case.sizes["batch"], case.sizes["M"]
    flat = case.model_copy(update={"sizes": {**case.sizes, "batch": 1, "M": batch * M}})
    x = arrays["in"].reshape(1, batch * M, -1)
    return {"out": by(right)({"in": x}, flat, precision)["out"].reshape(arrays["in"].shape)}


MISTAKES = {
    "halves paired": by(right, halves=True),
    "turned the other way": by(right, sign=-1.0),
    "positions from 1": by(lambda m, p, D, base: right(m + 1, p, D, base)),
    "two forgotten": by(lambda m, p, D, base: m * base ** (-p / D)),
    "another base": by(lambda m, p, D, base: right(m, p, D, 1.01 * base)),
    "angle in bfloat16": by(
        lambda m, p, D, base: (right(m, p, D, base).astype(np.float32).view(np.uint32) >> 16 << 16).view(np.float32)
    ),
    "position over the batch": position_over_the_batch,
}
