"""What goes wrong when partial attentions are merged."""

from __future__ import annotations

import numpy as np

LARGEST = float(np.finfo(np.float32).max)


def by(weights, infinite=-np.inf, transposed=False):
    """`weights` returns the two parts' weights and the merged log-sum-exp."""

    def merge(arrays, case, precision):
        a, b = (np.where(np.isinf(arrays[n]), infinite, arrays[n]) for n in ("lse_a", "lse_b"))
        w_a, w_b, LSE = weights(a, b)
        if transposed:
            w_a, w_b = (w.reshape(w.shape[::-1]).T for w in (w_a, w_b))
        V = w_a.T[..., None] * arrays["V_a"] + w_b.T[..., None] * arrays["V_b"]
        return {name: array for name, array in (("V_out", V), ("LSE_out", LSE)) if name not in case.null}

    return merge


def right(a, b):
    LSE = np.logaddexp(a, b)
    safe = np.where(np.isfinite(LSE), LSE, 0.0)
    return np.exp(a - safe), np.exp(b - safe), LSE


def naive(a, b):
    top = np.maximum(a, b)
    p_a, p_b = np.exp(a - top), np.exp(b - top)
    return p_a / (p_a + p_b), p_b / (p_a + p_b), np.log(p_a + p_b) + top


MISTAKES = {
    "parts swapped": by(lambda a, b: (right(a, b)[1], right(a, b)[0], right(a, b)[2])),
    "plain mean": by(lambda a, b: (0.5 + 0 * np.exp(a), 0.5 + 0 * np.exp(b), right(a, b)[2])),
    "not divided": by(lambda a, b: (np.exp(a - np.maximum(a, b)), np.exp(b - np.maximum(a, b)), right(a, b)[2])),
    "infinities replaced by the largest float": by(naive, infinite=-LARGEST),
    "NaN where both are infinite": by(naive),
    "heads and tokens swapped": by(right, transposed=True),
    "maximum forgotten in the log-sum-exp": by(lambda a, b: (*right(a, b)[:2], right(a, b)[2] - np.maximum(a, b))),
    "heavier part alone": by(lambda a, b: (np.where(a >= b, 1.0, 0.0), np.where(a >= b, 0.0, 1.0), np.maximum(a, b))),
}
