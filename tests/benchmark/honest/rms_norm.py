"""Honest RMS normalizations: any order of summation; a root and a division, or a reciprocal root."""

from __future__ import annotations

import numpy as np

from .sums import SUMS, F, split


def by(add):
    def norm(arrays, case, precision):
        x, weight, bias = (arrays[name].astype(F) for name in ("in", "weight", "bias"))
        root = np.sqrt(add(x**2) / F(case.sizes["N"]) + F(case.scalars["eps"]))
        return {"out": x / root[:, None] * weight + bias}

    return norm


def reciprocal(arrays, case, precision):
    x, weight, bias = (arrays[name].astype(F) for name in ("in", "weight", "bias"))
    inverse = F(1) / np.sqrt(split(x**2) * (F(1) / F(case.sizes["N"])) + F(case.scalars["eps"]))
    return {"out": x * (weight * inverse[:, None]) + bias}


VARIANTS = {**{name: by(add) for name, add in SUMS.items()}, "reciprocal root": reciprocal}
