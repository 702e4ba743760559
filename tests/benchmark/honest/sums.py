"""Ways in which honest kernels sum, in float: along the last axis of float32 arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Sum = Callable[[np.ndarray], np.ndarray]
F = np.float32


def sequential(terms: np.ndarray) -> np.ndarray:
    """One thread, one term after the other."""
    return np.add.accumulate(terms, axis=-1, dtype=F)[..., -1] if terms.shape[-1] else np.zeros(terms.shape[:-1], F)


def pairwise(terms: np.ndarray) -> np.ndarray:
    """A tree, as in a block-level reduction."""
    while terms.shape[-1] > 1:
        half = (terms.shape[-1] + 1) // 2
        upper = terms[..., half:]
        terms = terms[..., :half].copy()
        terms[..., : upper.shape[-1]] += upper
    return sequential(terms)


def split(terms: np.ndarray, lanes: int = 32) -> np.ndarray:
    """Each lane sums every 32nd term, a tree joins the lanes: a warp per row."""
    pad = -terms.shape[-1] % lanes
    padded = np.concatenate([terms, np.zeros((*terms.shape[:-1], pad), F)], axis=-1)
    return pairwise(np.swapaxes(padded.reshape(*terms.shape[:-1], -1, lanes), -1, -2).cumsum(-1, dtype=F)[..., -1])


def reordered(terms: np.ndarray) -> np.ndarray:
    """Any order: atomics."""
    order = np.random.default_rng(terms.shape[-1]).permutation(terms.shape[-1])
    return sequential(terms[..., order])


def backwards(terms: np.ndarray) -> np.ndarray:
    """From the last to the first."""
    return sequential(terms[..., ::-1])


def truncating(terms: np.ndarray, width: int = 8) -> np.ndarray:
    """As a tensor core: a few terms and the accumulator at once, aligned to the largest, cut to 25 bits, towards 0."""
    pad = -terms.shape[-1] % width
    padded = np.concatenate([terms, np.zeros((*terms.shape[:-1], pad), F)], axis=-1).astype(np.float64)
    total = np.zeros(terms.shape[:-1])
    for start in range(0, padded.shape[-1], width):
        group = np.concatenate([padded[..., start : start + width], total[..., None]], axis=-1)
        unit = np.ldexp(1.0, np.frexp(np.max(np.abs(group), axis=-1))[1] - 25)
        total = np.sum(np.trunc(group / unit[..., None]), axis=-1) * unit
        last = np.ldexp(1.0, np.frexp(total)[1] - 24)
        total = np.trunc(total / last) * last
    return total.astype(F)


SUMS: dict[str, Sum] = {f.__name__: f for f in (sequential, pairwise, split, reordered, backwards)}
