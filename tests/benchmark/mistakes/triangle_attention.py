"""What goes wrong in triangle attentions."""

from __future__ import annotations

import numpy as np


def by(mask=lambda m: m > 0.5, below=0, scale=np.sqrt, empty=0.0, dot=False):
    def attention(arrays, case, precision):
        q, k, v = (arrays[name] for name in ("query", "key", "value"))
        scores = q[:, :, :, None] * k[:, :, None] / scale(q.shape[-1])
        if dot:
            scores = np.broadcast_to(scores.sum(axis=-1, keepdims=True), scores.shape)
        allowed = ~mask(arrays["attention_mask"]) & np.tri(q.shape[2], k=below, dtype=bool)
        scores = np.where(allowed[:, None, :, :, None], scores, -np.inf)
        top = np.max(scores, axis=3, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        total = e.sum(axis=3)
        mean = np.sum(e * v[:, :, None], axis=3)
        return {"output": np.where(total > 0, mean / np.where(total > 0, total, 1.0), empty)}

    return attention


MISTAKES = {
    "mask ignored": by(mask=lambda m: np.zeros_like(m, dtype=bool)),
    "any mask but 0 counts": by(mask=lambda m: m > 0),
    "mask at 0.5 counts": by(mask=lambda m: m >= 0.5),
    "mask turned": by(mask=lambda m: m <= 0.5),
    "mask of the first batch": by(mask=lambda m: np.broadcast_to(m[:1] > 0.5, m.shape)),
    "position itself left out": by(below=-1),
    "not causal": by(below=10**6),
    "NaN where all is masked": by(empty=np.nan),
    "dot product over channels": by(dot=True),
    "not scaled": by(scale=lambda d: 1.0),
}
