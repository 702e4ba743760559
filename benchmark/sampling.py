"""Which elements of a big output to look at, where computing all of them would take longer than it is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rows(count: int, rng: np.random.Generator, band: int = 64) -> NDArray[np.int64]:
    """Choose one row at random from each band of this many, so that no tile of that height goes unseen; ascending.

    The first and the last row are always among them.
    """
    starts = np.arange(0, count, band)
    chosen = np.minimum(starts + rng.integers(0, band, starts.size), count - 1)
    return np.unique(np.concatenate([[0], chosen, [count - 1]]))


def positions(count: int, rng: np.random.Generator, most: int = 2**20) -> NDArray[np.int64]:
    """Choose at most this many of `count` elements, spread evenly with a random offset in each stretch; ascending.

    The first and the last element are always among them.
    """
    stretch = -(-count // most)
    return rows(count, rng, stretch)


def whole_rows(chosen: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the flat positions of all elements of the chosen rows of a row-major matrix, in the rows' shape."""
    return chosen[:, None] * length + np.arange(length)
