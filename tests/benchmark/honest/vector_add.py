"""Honest sums of vectors."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import DType
from cudamaster.benchmark.storage import from_storage, to_storage

from .sums import F


def by(add):
    return lambda arrays, case, precision: {"C": add(arrays["A"], arrays["B"])}


def in_storage(arrays, case, precision):
    """Packed bf16 addition: one rounding to the storage type."""
    dtype = DType.STORAGE.resolve(precision)
    return {"C": from_storage(to_storage(arrays["A"] + arrays["B"], dtype), dtype)}


VARIANTS = {
    "float": by(lambda a, b: a.astype(F) + b.astype(F)),
    "swapped": by(lambda a, b: b.astype(F) + a.astype(F)),
    "fused": by(lambda a, b: (a * np.float64(1) + b).astype(F)),
    "storage": in_storage,
}
