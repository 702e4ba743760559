"""Honest selections: by sorting, one after the other, from the best of blocks."""

from __future__ import annotations

import numpy as np


def by(select):
    def selection(arrays, case, precision):
        indices = np.stack([select(row, case.sizes["k"]) for row in arrays["input"]])
        return {"values": np.take_along_axis(arrays["input"], indices, axis=1), "indices": indices}

    return selection


def ordered(x, indices):
    """Descending; of equal elements the smaller index first."""
    return indices[np.lexsort((indices, -x[indices]))]


def one_by_one(x, k):
    left, chosen = x.copy(), []
    taken = np.zeros(x.size, bool)
    for _ in range(k):
        best = np.max(left[~taken])
        chosen.append(int(np.flatnonzero((left == best) & ~taken)[0]))
        taken[chosen[-1]] = True
    return np.array(chosen)


def of_blocks(x, k, size=64):
    """The k best of each block, then the k best of those."""
    blocks = [np.arange(start, min(start + size, x.size)) for start in range(0, x.size, size)]
    return ordered(x, np.concatenate([ordered(x, block)[:k] for block in blocks]))[:k]


def threshold(x, k):
    """All above the k-th largest, and the first of its equals."""
    least = np.sort(x)[x.size - k]
    above = np.flatnonzero(x > least)
    return ordered(x, np.concatenate([above, np.flatnonzero(x == least)[: k - above.size]]))


VARIANTS = {
    "sorted": by(lambda x, k: ordered(x, np.arange(x.size))[:k]),
    "one by one": by(one_by_one),
    "of blocks": by(of_blocks),
    "threshold": by(threshold),
}
