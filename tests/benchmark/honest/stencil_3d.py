"""Honest stencils: the same seven terms, written differently."""

from __future__ import annotations

import numpy as np

from .sums import F


def by(step):
    def stencil(arrays, case, precision):
        u, r = arrays["u_old"].astype(F), F(case.scalars["r"])
        new = u.copy()
        if min(u.shape) > 2:
            middle = slice(1, -1)
            around = []
            for axis in range(3):
                for shifted in (slice(None, -2), slice(2, None)):
                    around.append(u[tuple(shifted if axis == other else middle for other in range(3))])
            new[middle, middle, middle] = step(r, u[middle, middle, middle], *around)
        return {"u_new": new}

    return stencil


VARIANTS = {
    "as written": by(lambda r, u, a, b, c, d, e, f: u + r * (a + b + c + d + e + f - F(6) * u)),
    "neighbours in pairs": by(lambda r, u, a, b, c, d, e, f: u + r * ((a + b) + (c + d) + (e + f) - F(6) * u)),
    "weights": by(lambda r, u, a, b, c, d, e, f: (F(1) - F(6) * r) * u + r * (f + e + d + c + b + a)),
    "differences": by(
        lambda r, u, a, b, c, d, e, f: (
            u + r * (a - u) + r * (b - u) + r * (c - u) + r * (d - u) + r * (e - u) + r * (f - u)
        )
    ),
    "double": by(lambda r, u, *around: (u + np.float64(r) * (sum(np.float64(n) for n in around) - 6.0 * u)).astype(F)),
}
