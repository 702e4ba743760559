"""Honest hinge losses."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import DType
from cudamaster.benchmark.storage import from_storage, to_storage

from .sums import F


def by(loss):
    return lambda arrays, case, precision: {"loss": loss(arrays["predictions"].astype(F), arrays["targets"] == 1)}


def in_storage(arrays, case, precision):
    """Packed bf16 multiply-add."""
    dtype = DType.STORAGE.resolve(precision)
    exact = np.maximum(0.0, 1.0 - np.where(arrays["targets"] == 1, 1.0, -1.0) * arrays["predictions"])
    return {"loss": from_storage(to_storage(exact, dtype), dtype)}


VARIANTS = {
    "product": by(lambda p, hit: np.maximum(F(0), F(1) - np.where(hit, F(1), F(-1)) * p)),
    "branch": by(lambda p, hit: np.maximum(np.where(hit, F(1) - p, F(1) + p), F(0))),
    "double": by(lambda p, hit: np.maximum(0.0, 1.0 - np.where(hit, 1.0, -1.0) * p)),
    "storage": in_storage,
}
