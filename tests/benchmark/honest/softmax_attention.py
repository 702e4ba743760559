"""Honest attentions: three steps, fused with an online softmax, intermediates in the storage type."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.contract import DType
from cudamaster.benchmark.storage import from_storage, to_storage

from .functions import fast_exp
from .sums import F, pairwise, sequential, split, truncating


def product(left, right, add):
    """Return left · rightᵀ [batch, rows, columns] with the sums in a given order."""
    return add(left[:, :, None, :] * right[:, None, :, :])


def operands(arrays):
    q, k, v = (arrays[name].astype(F) for name in "QKV")
    return q, k, np.swapaxes(v, 1, 2), F(1) / np.sqrt(F(q.shape[-1]))


def by(add):
    def attention(arrays, case, precision):
        q, k, v, scale = operands(arrays)
        scores = product(q, k, add) * scale
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return {"Y": product(e / add(e)[..., None], v, add)}

    return attention


def stored(arrays, case, precision):
    """Three launches, whose scores and weights go through memory in the storage type."""
    dtype = DType.STORAGE.resolve(precision)

    def kept(x):
        return from_storage(to_storage(x, dtype), dtype).astype(F)

    q, k, v, scale = operands(arrays)
    scores = kept(product(q, k, split) * scale)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"Y": product(kept(e / pairwise(e)[..., None]), v, split)}


def fused(arrays, case, precision, tile=16):
    """Tiles of keys, running maximum and sum, base two, weights in the storage type before the division."""
    dtype = DType.STORAGE.resolve(precision)
    q, k, v, scale = operands(arrays)
    top = np.full(q.shape[:2], -np.inf, F)
    total, result = np.zeros(q.shape[:2], F), np.zeros((*q.shape[:2], v.shape[1]), F)
    for first in range(0, k.shape[1], tile):
        scores = product(q, k[:, first : first + tile], truncating) * (scale * F(np.log2(np.e)))
        new = np.maximum(top, scores.max(axis=-1))
        e = np.exp2(scores - new[..., None])
        rescale = np.exp2(top - new)
        total = total * rescale + sequential(e)
        weights = from_storage(to_storage(e, dtype), dtype).astype(F)
        result = result * rescale[..., None] + product(weights, v[:, :, first : first + tile], truncating)
        top = new
    return {"Y": result / total[..., None]}


def fast(arrays, case, precision):
    q, k, v, scale = operands(arrays)
    scores = product(q, k, split) * scale
    e = fast_exp(scores - scores.max(axis=-1, keepdims=True))
    return {"Y": product(e, v, split) * (F(1) / split(e))[..., None]}


VARIANTS = {
    "sequential": by(sequential),
    "pairwise": by(pairwise),
    "split": by(split),
    "stored": stored,
    "fused": fused,
    "fast exponential": fast,
}
