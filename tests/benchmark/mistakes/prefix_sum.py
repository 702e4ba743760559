"""What goes wrong in scans."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.bf16 import from_bf16, to_bf16


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"])}


def blocks_not_joined(x, size=256):
    return np.concatenate([np.cumsum(x[:, start : start + size], 1) for start in range(0, x.shape[1], size)], axis=1)


def one_block_late(x, size=256):
    """The sum of all blocks before it, but the last, is added to a block."""
    ends = np.cumsum(x, axis=1)[:, size - 1 :: size]
    block = np.arange(x.shape[1]) // size
    before = np.concatenate([np.zeros((len(x), 2)), ends], axis=1)[:, block]
    return blocks_not_joined(x, size) + before


def sums_in_bf16(x):
    total, out = np.zeros(len(x)), np.empty_like(x)
    for i in range(x.shape[1]):
        out[:, i] = total = from_bf16(to_bf16(total + x[:, i]))
    return out


MISTAKES = {
    "exclusive": by(lambda x: np.cumsum(x, axis=1) - x),
    "backwards": by(lambda x: np.cumsum(x[:, ::-1], axis=1)[:, ::-1]),
    "blocks not joined": by(blocks_not_joined),
    "block sums one block late": by(one_block_late),
    "rows joined": by(lambda x: np.cumsum(x).reshape(x.shape)),
    "sums in bf16": by(sums_in_bf16),
    "one element skipped": by(lambda x: np.cumsum(np.where(np.arange(x.shape[1]) == 255, 0, x), axis=1)),
}
