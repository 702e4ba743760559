"""What goes wrong in attentions."""

from __future__ import annotations

import numpy as np


def by(change=lambda scores: scores, scale=lambda d: 1 / np.sqrt(d), values=lambda v: v, weights=lambda w: w):
    def attention(arrays, case, precision):
        q, k, v = (arrays[name] for name in "QKV")
        scores = change(q @ np.swapaxes(k, 1, 2) * scale(q.shape[-1]))
        e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        return {"Y": weights(e / e.sum(axis=-1, keepdims=True)) @ values(v)}

    return attention


def masked(keep):
    """Lose the keys that `keep` (of key index and count) refuses."""
    return by(change=lambda s: np.where(keep(np.arange(s.shape[-1]), s.shape[-1]), s, -np.inf))


def causal(scores):
    return np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)


MISTAKES = {
    "not scaled": by(scale=lambda d: 1.0),
    "scaled by the dimension": by(scale=lambda d: 1.0 / d),
    "causal": by(change=causal),
    "last key lost": masked(lambda j, n: (j < n - 1) | (n == 1)),
    "only whole tiles of keys": masked(lambda j, n: j < max(n // 16 * 16, 1)),
    "keys of the first batch": lambda arrays, case, precision: by()(
        {**arrays, "K": np.broadcast_to(arrays["K"][:1], arrays["K"].shape)}, case, precision
    ),
    "softmax over the queries": by(weights=lambda w: w / w.sum(axis=1, keepdims=True)),
    "padding keys counted": by(weights=lambda w: w * w.shape[-1] / (-(-w.shape[-1] // 16) * 16)),
    "equal weights": by(weights=lambda w: np.full_like(w, 1 / w.shape[-1])),
}
