"""Honest stencils: the same five terms, written differently."""

from __future__ import annotations

import numpy as np

from .sums import F


def by(step):
    def stencil(arrays, case, precision):
        u, r = arrays["u_old"].astype(F), F(case.scalars["r"])
        new = u.copy()
        if min(u.shape) > 2:
            new[1:-1, 1:-1] = step(r, u[1:-1, 1:-1], u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:])
        return {"u_new": new}

    return stencil


VARIANTS = {
    "as written": by(lambda r, u, n, s, w, e: u + r * (n + s + w + e - F(4) * u)),
    "neighbours in pairs": by(lambda r, u, n, s, w, e: u + r * ((n + s) + (w + e) - F(4) * u)),
    "weights": by(lambda r, u, n, s, w, e: (F(1) - F(4) * r) * u + r * (e + w + s + n)),
    "differences": by(lambda r, u, n, s, w, e: u + r * (n - u) + r * (s - u) + r * (w - u) + r * (e - u)),
    "double": by(lambda r, u, n, s, w, e: (u + np.float64(r) * (np.float64(n) + s + w + e - 4.0 * u)).astype(F)),
}
