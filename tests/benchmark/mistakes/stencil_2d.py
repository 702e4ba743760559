"""What goes wrong in stencils."""

from __future__ import annotations

import numpy as np


def step(u, r):
    new = u.copy()
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new[1:-1, 1:-1] += r * (around - 4 * u[1:-1, 1:-1])
    return new


def by(function):
    return lambda arrays, case, precision: {"u_new": function(arrays["u_old"], case.scalars["r"])}


def border_not_copied(u, r):
    new = step(u, r)
    new[0], new[-1], new[:, 0], new[:, -1] = 0, 0, 0, 0
    return new


def halo_of_one_tile_lost(u, r):
    new = step(u, r)
    if u.shape[0] > 17:
        new[16, 1:-1] -= r * u[15, 1:-1]
    return new


def periodic(u, r):
    return u + r * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)


MISTAKES = {
    "copied only": by(lambda u, r: u.copy()),
    "border not copied": by(border_not_copied),
    "periodic border": by(periodic),
    "r fixed at a quarter": by(lambda u, r: step(u, 0.25)),
    "axes exchanged": by(lambda u, r: np.ascontiguousarray(step(u.reshape(u.shape[::-1]), r)).reshape(u.shape)),
    "halo of a tile lost": by(halo_of_one_tile_lost),
    "in place": by(lambda u, r: _in_place(u.copy(), r)),
}


def _in_place(u, r):
    """Reads neighbours that are already new."""
    for i in range(1, u.shape[0] - 1):
        u[i, 1:-1] += r * (u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:] - 4 * u[i, 1:-1])
    return u
