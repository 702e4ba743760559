"""What goes wrong in maximum pooling."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def pool(x, size, stride, padding, border=-np.inf, over=np.max):
    sides = (padding, padding)
    padded = np.pad(x, [(0, 0), (0, 0), sides, sides], constant_values=border)
    return over(sliding_window_view(padded, (size, size), axis=(2, 3))[:, :, ::stride, ::stride], axis=(4, 5))


def by(function):
    def compute(arrays, case, precision):
        return {"output": function(arrays["input"], *(case.sizes[n] for n in ("kernel_size", "stride", "padding")))}

    return compute


def shifted(x, size, stride, padding):
    """Windows start at the first cell, as if there were no padding, and end early."""
    padded = np.pad(x, [(0, 0), (0, 0), (0, 2 * padding), (0, 2 * padding)], constant_values=-np.inf)
    return pool(padded, size, stride, 0)


MISTAKES = {
    "padding seen as zero": by(lambda x, *window: pool(x, *window, border=0.0)),
    "zero to start with": by(lambda x, *window: np.maximum(pool(x, *window), 0.0)),
    "mean": by(lambda x, *window: pool(x, *window, border=0.0, over=np.mean)),
    "minimum": by(lambda x, *window: pool(x, *window, border=np.inf, over=np.min)),
    "padding on one side": by(shifted),
    "windows of 2, 3 and 4 only": by(lambda x, k, s, p: pool(x, k, s, p) * ((k, s) in ((2, 1), (3, 1), (4, 2)))),
    "last column of windows lost": by(
        lambda x, k, s, p: pool(x, k, s, p, over=lambda w, axis: w[..., :-1].max(axis)) if k > 1 else pool(x, k, s, p)
    ),
}
ONLY_FP32 = {
    "least float instead of minus infinity": by(lambda x, *window: np.maximum(pool(x, *window), np.finfo("f4").min))
}
"""In bf16 the least float is minus infinity."""
