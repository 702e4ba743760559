"""What goes wrong in selections of the largest."""

from __future__ import annotations

import numpy as np


def by(order):
    def selection(arrays, case, precision):
        x, k = arrays["input"], case.sizes["k"]
        indices = order(x, k)[:, :k]
        return {"values": np.take_along_axis(x, indices, axis=1), "indices": indices}

    return selection


def right_order(x):
    return np.argsort(-x, axis=1, kind="stable")


def later_first(x, k):
    """Of equal elements the larger index first."""
    return x.shape[1] - 1 - np.argsort(-x[:, ::-1], axis=1, kind="stable")


def by_bits(x, k):
    """Ordered by bit pattern: -0 below 0."""
    bits = x.astype(np.float32).view(np.int32).astype(np.int64)
    return np.argsort(-np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits), axis=1, kind="stable")


def best_of_each_block(x, k, size=64):
    """A block gives at most 32 elements."""
    found = []
    for start in range(0, x.shape[1], size):
        found.append(start + right_order(x[:, start : start + size])[:, :32])
    candidates = np.concatenate(found, axis=1)
    values = np.take_along_axis(x, candidates, axis=1)
    chosen = np.take_along_axis(candidates, np.lexsort((candidates, -values), axis=1), axis=1)
    missing = max(k - chosen.shape[1], 0)
    return np.pad(chosen, [(0, 0), (0, missing)])


MISTAKES = {
    "smallest": by(lambda x, k: np.argsort(x, axis=1, kind="stable")),
    "ascending": by(lambda x, k: right_order(x)[:, :k][:, ::-1]),
    "later of equals first": by(later_first),
    "by magnitude": by(lambda x, k: right_order(np.abs(x))),
    "minus zero below zero": by(by_bits),
    "a block gives 32 at most": by(best_of_each_block),
    "last element not seen": by(
        lambda x, k: right_order(np.where(np.arange(x.shape[1]) == x.shape[1] - 1, -np.inf, x))
    ),
}
