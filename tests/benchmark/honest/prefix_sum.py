"""Honest scans, in float: one after the other, work-efficient, step-efficient, in blocks, look-back."""

from __future__ import annotations

import numpy as np

from .sums import F


def by(scan):
    return lambda arrays, case, precision: {"out": np.stack([scan(row.astype(F)) for row in arrays["in"]])}


def sequential(x):
    return np.add.accumulate(x, dtype=F)


def doubling(x):
    """Hillis and Steele: each step adds the element a power of two before."""
    step = 1
    while step < x.size:
        x = np.concatenate([x[:step], x[step:] + x[:-step]])
        step *= 2
    return x


def tree(x):
    """Sums of pairs are scanned, and odd places filled in."""
    if x.size == 1:
        return x
    pairs = tree(x[0 : x.size // 2 * 2 : 2] + x[1::2])
    out = np.empty_like(x)
    out[1::2], out[0] = pairs, x[0]
    out[2::2] = pairs[: out[2::2].size] + x[2::2]
    return out


def in_blocks(x, size=32):
    """Blocks are scanned, then the sums of the blocks, which are added."""
    blocks = np.concatenate([x, np.zeros(-x.size % size, F)]).reshape(-1, size)
    scanned = np.add.accumulate(blocks, axis=1, dtype=F)
    before = np.concatenate([np.zeros(1, F), doubling(scanned[:, -1])[:-1]])
    return (scanned + before[:, None]).ravel()[: x.size]


VARIANTS = {
    "sequential": by(sequential),
    "doubling": by(doubling),
    "tree": by(tree),
    "in blocks": by(in_blocks),
    "each on its own": by(lambda x: np.array([x[: i + 1].sum(dtype=F) for i in range(x.size)])),
}
