"""Honest maximum pooling: whole windows, rows and columns apart."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def padded(arrays, case):
    sides = (case.sizes["padding"],) * 2
    return np.pad(arrays["input"], [(0, 0), (0, 0), sides, sides], constant_values=-np.inf)


def windows(arrays, case, precision):
    size, stride = case.sizes["kernel_size"], case.sizes["stride"]
    found = sliding_window_view(padded(arrays, case), (size, size), axis=(2, 3))[:, :, ::stride, ::stride]
    return {"output": found.max(axis=(4, 5))}


def rows_and_columns(arrays, case, precision):
    size, stride = case.sizes["kernel_size"], case.sizes["stride"]
    of_rows = sliding_window_view(padded(arrays, case), size, axis=3)[:, :, :, ::stride].max(axis=-1)
    return {"output": sliding_window_view(of_rows, size, axis=2)[:, :, ::stride].max(axis=-1)}


VARIANTS = {"windows": windows, "rows and columns": rows_and_columns}
