"""Honest merges: weights by exponentials of both parts, by a sigmoid of the difference, fast functions."""

from __future__ import annotations

import numpy as np

from .functions import fast_exp, fast_log
from .sums import F


def inputs(arrays):
    a, b = (np.where(np.isinf(arrays[name]), -np.inf, arrays[name]).astype(F) for name in ("lse_a", "lse_b"))
    return arrays["V_a"].astype(F), a, arrays["V_b"].astype(F), b


def outputs(V, LSE, case):
    return {name: array for name, array in (("V_out", V), ("LSE_out", LSE)) if name not in case.null}


def both(exp, log):
    """Subtract the larger, exponentiate both, divide."""

    def merge(arrays, case, precision):
        V_a, a, V_b, b = inputs(arrays)
        top = np.maximum(a, b)
        safe = np.where(np.isfinite(top), top, F(0))
        p_a, p_b = exp(a - safe), exp(b - safe)
        total = p_a + p_b
        w_a, w_b = (np.where(total > 0, p / total, F(0)).astype(F).T[..., None] for p in (p_a, p_b))
        return outputs(w_a * V_a + w_b * V_b, np.where(total == 1, top, log(total) + top), case)

    return merge


def difference(arrays, case, precision):
    """One exponential of the difference; the result moves from the heavier part to the lighter."""
    V_a, a, V_b, b = inputs(arrays)
    top, low = np.maximum(a, b), np.minimum(a, b)
    e = np.exp(np.where(np.isfinite(low), low - np.where(np.isfinite(top), top, F(0)), -np.inf).astype(F))
    lighter, turned = (e / (F(1) + e)).T[..., None], (b > a).T[..., None]
    heavy, light = np.where(turned, V_b, V_a), np.where(turned, V_a, V_b)
    V = heavy + lighter * (light - heavy)
    return outputs(np.where(np.isfinite(top).T[..., None], V, F(0)), top + np.log1p(e), case)


VARIANTS = {
    "both": both(np.exp, np.log),
    "fast": both(fast_exp, fast_log),
    "difference": difference,
}
