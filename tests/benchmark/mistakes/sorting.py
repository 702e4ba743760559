"""What goes wrong in sorting."""

from __future__ import annotations

import numpy as np


def by(function):
    return lambda arrays, case, precision: {"data": function(arrays["data"])}


def runs_not_merged(x, size=1024):
    return np.concatenate([np.sort(x[:, start : start + size], 1) for start in range(0, x.shape[1], size)], axis=1)


def padded_with_the_largest_float(x):
    """What is beyond the padding value sorts behind it, and is cut off."""
    length = 1 << (x.shape[1] - 1).bit_length()
    padding = np.full((len(x), length - x.shape[1]), np.finfo(np.float32).max)
    return np.sort(np.concatenate([x, padding], axis=1), axis=1)[:, : x.shape[1]]


def duplicates_lost(x):
    """The rank counts smaller elements only, so that equal ones share a place."""
    out = np.zeros_like(x)
    for row, target in zip(x, out, strict=True):
        target[np.searchsorted(np.sort(row), row)] = row
    return out


def bits_as_signed(x):
    """Radix order of the bit patterns, negative numbers the wrong way round."""
    order = np.argsort(x.astype(np.float32).view(np.int32), axis=1, kind="stable")
    return np.take_along_axis(x, order, axis=1)


MISTAKES = {
    "descending": by(lambda x: np.sort(x, axis=1)[:, ::-1]),
    "runs not merged": by(runs_not_merged),
    "duplicates lost": by(duplicates_lost),
    "bits as signed numbers": by(bits_as_signed),
    "rows joined": by(lambda x: np.sort(x, axis=None).reshape(x.shape)),
    "last element left": by(lambda x: np.concatenate([np.sort(x[:, :-1], axis=1), x[:, -1:]], axis=1)),
}
ONLY_FP32 = {"padded with the largest float": by(padded_with_the_largest_float)}
"""In bf16 the largest float is infinity."""
