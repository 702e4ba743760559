"""Honest triangle attentions: three passes, one pass, several orders."""

from __future__ import annotations

import numpy as np

from .functions import fast_exp
from .sums import F, pairwise, reordered, sequential


def operands(arrays):
    """Return scores [batch, heads, query, channel, key] with −infinity where masked, and the values to match."""
    q, k, v = (arrays[name].astype(F) for name in ("query", "key", "value"))
    q = q / np.sqrt(F(q.shape[-1]))
    k, v = (np.swapaxes(x, 2, 3)[:, :, None] for x in (k, v))
    allowed = (arrays["attention_mask"] <= 0.5) & np.tri(q.shape[2], dtype=bool)
    return np.where(allowed[:, None, :, None, :], q[..., None] * k, -np.inf).astype(F), v


def by(add, exp=np.exp):
    def attention(arrays, case, precision):
        scores, v = operands(arrays)
        top = scores.max(axis=-1, keepdims=True)
        e = exp(scores - np.where(np.isfinite(top), top, F(0)))
        total = add(e)
        return {"output": np.where(total > 0, add(e * v) / np.where(total > 0, total, F(1)), F(0))}

    return attention


def online(arrays, case, precision):
    """One pass over the keys with a running maximum."""
    scores, v = operands(arrays)
    v = np.broadcast_to(v, scores.shape)
    top = np.full(scores.shape[:-1], -np.inf, F)
    total, result = np.zeros_like(top), np.zeros_like(top)
    for j in range(scores.shape[-1]):
        new = np.maximum(top, scores[..., j])
        safe = np.where(np.isfinite(new), new, F(0))
        rescale, e = np.exp(top - safe), np.exp(scores[..., j] - safe)
        total, result, top = total * rescale + e, result * rescale + e * v[..., j], new
    return {"output": np.where(total > 0, result / np.where(total > 0, total, F(1)), F(0))}


VARIANTS = {
    "sequential": by(sequential),
    "pairwise": by(pairwise),
    "reordered": by(reordered),
    "fast exponential": by(sequential, fast_exp),
    "online": online,
}
