"""What goes wrong in stencils in a box."""

from __future__ import annotations

import numpy as np

INSIDE = (slice(1, -1),) * 3


def neighbours(u):
    return sum(np.roll(u, shift, axis) for axis in range(3) for shift in (1, -1))


def step(u, r):
    new = u.copy()
    new[INSIDE] = (u + r * (neighbours(u) - 6 * u))[INSIDE]
    return new


def by(function):
    return lambda arrays, case, precision: {"u_new": function(arrays["u_old"], case.scalars["r"])}


def four_times_the_middle(u, r):
    """The weight of the middle as in two dimensions."""
    new = step(u, r)
    new[INSIDE] += 2 * r * u[INSIDE]
    return new


def faces_not_copied(u, r):
    new = np.zeros_like(u)
    new[INSIDE] = step(u, r)[INSIDE]
    return new


def edge_not_copied(u, r):
    new = step(u, r)
    new[0, 0, :] = 0
    return new


def halo_of_a_tile_lost(u, r):
    new = step(u, r)
    if u.shape[2] > 33:
        new[1:-1, 1:-1, 32] -= r * u[1:-1, 1:-1, 31]
    return new


MISTAKES = {
    "copied only": by(lambda u, r: u.copy()),
    "faces not copied": by(faces_not_copied),
    "an edge not copied": by(edge_not_copied),
    "periodic border": by(lambda u, r: u + r * (neighbours(u) - 6 * u)),
    "weight of two dimensions": by(four_times_the_middle),
    "r fixed at a quarter": by(lambda u, r: step(u, 0.25)),
    "axes exchanged": by(lambda u, r: np.ascontiguousarray(step(u.reshape(u.shape[::-1]), r)).reshape(u.shape)),
    "halo of a tile lost": by(halo_of_a_tile_lost),
}
