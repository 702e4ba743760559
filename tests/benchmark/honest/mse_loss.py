"""Honest mean squared errors: any order of summation, a division or a multiplication by 1/N."""

from __future__ import annotations

import numpy as np

from .sums import SUMS, F, pairwise


def squares(arrays):
    return (arrays["X"].astype(F) - arrays["Y"].astype(F))[None] ** 2


def by(add):
    return lambda arrays, case, precision: {"loss": add(squares(arrays)) / F(case.sizes["N"])}


def scaled_terms(arrays, case, precision):
    """Every block divides its own part."""
    terms = squares(arrays)[0]
    parts = [np.sum(part, dtype=F) / F(case.sizes["N"]) for part in np.array_split(terms, -(-terms.size // 256))]
    return {"loss": pairwise(np.array(parts, F)[None])}


VARIANTS = {
    **{name: by(add) for name, add in SUMS.items()},
    "one part in 256": scaled_terms,
}
