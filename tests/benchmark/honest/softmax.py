"""Honest softmaxes: three passes, online, base two, exponentials kept in the storage type."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import DType
from cudamaster.benchmark.storage import from_storage, to_storage

from .sums import SUMS, F, pairwise


def by(add):
    def softmax(arrays, case, precision):
        x = arrays["in"].astype(F)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return {"out": e / add(e)[:, None]}

    return softmax


def base_two(arrays, case, precision):
    """exp2 of the difference times log2(e), and a reciprocal."""
    x = arrays["in"].astype(F)
    e = np.exp2((x - x.max(axis=1, keepdims=True)) * F(np.log2(np.e)))
    return {"out": e * (F(1) / pairwise(e))[:, None]}


def online(arrays, case, precision):
    """One pass keeps maximum and sum, and rescales the sum when the maximum grows."""
    x = arrays["in"].astype(F)
    largest, total = np.full(len(x), -np.inf, F), np.zeros(len(x), F)
    for column in x.T:
        new = np.maximum(largest, column)
        scale = np.where(largest == new, F(1), np.exp(np.where(np.isfinite(new), largest - new, F(0))))
        total = total * scale + np.where(
            np.isfinite(column), np.exp(column - np.where(np.isfinite(new), new, F(0))), F(0)
        )
        largest = new
    return {"out": np.exp(x - largest[:, None]) / total[:, None]}


def stored(arrays, case, precision):
    """The exponentials are kept in the output, as the baseline does."""
    x = arrays["in"].astype(F)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    dtype = DType.STORAGE.resolve(precision)
    kept = from_storage(to_storage(e, dtype), dtype).astype(F)
    return {"out": kept / pairwise(kept)[:, None]}


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "base two": base_two, "online": online, "stored": stored}
