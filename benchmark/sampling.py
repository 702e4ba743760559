"""Which elements of a big output to look at, where computing all of them would take longer than it is worth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .contract import Precision
from .task import Arrays, Case, Outputs

Reference = Callable[[Arrays, Case, Precision], Outputs]
Sample = Callable[[Arrays, Case, Precision, np.random.Generator], Outputs]


def rows(count: int, rng: np.random.Generator, band: int | None = None) -> NDArray[np.int64]:
    """Choose one row at random from each band of this many, so that no tile of that height goes unseen; ascending.

    The default band is 64, or fewer so that there are 256 of them. The first and the last row are always chosen.
    """
    band = band or min(64, max(1, count // 256))
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


def elementwise(reference: Reference) -> Sample:
    """Return the `sample` of a task whose outputs depend element by element on inputs of the same shape."""

    def sample(arrays: Arrays, case: Case, precision: Precision, rng: np.random.Generator) -> Outputs:
        chosen = positions(next(iter(arrays.values())).size, rng)
        part = reference({name: array.reshape(-1)[chosen] for name, array in arrays.items()}, case, precision)
        return {name: expected.at(chosen) for name, expected in part.items()}

    return sample


def rowwise(reference: Reference, *by_row: str) -> Sample:
    """Return the `sample` of a task whose output rows depend on the same rows of the inputs `by_row`, and on the rest.

    Outputs and those inputs are matrices with as many rows.
    """

    def sample(arrays: Arrays, case: Case, precision: Precision, rng: np.random.Generator) -> Outputs:
        chosen = rows(len(arrays[by_row[0]]), rng)
        part = reference({n: a[chosen] if n in by_row else a for n, a in arrays.items()}, case, precision)
        return {name: e.at(whole_rows(chosen, e.value.shape[1])) for name, e in part.items()}

    return sample
