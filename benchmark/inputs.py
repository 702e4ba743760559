"""Input data by the name of its distribution, and the drawing of a case's arrays from a seed.

Each distribution breaks another kind of mistake: a large mean and cancellation break sloppy sums, a wide range breaks
early rounding, ties and sorted data break selection, infinities and NaN break clamps. The exact ones (`integers`,
`powers_of_two`, `one_hot`) make every intermediate of a sum representable in any order: a single lost term shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .contract import Precision
from .parallel import PIECE, in_pieces
from .storage import from_storage, to_storage

if TYPE_CHECKING:
    from .task import Case, Task

Float = NDArray[np.float64]
Shape = tuple[int, ...]
_EXACT_LIMIT = 2**24
"""Whole numbers up to here, and multiples of a power of two up to here times it, are exact in float."""


def uniform(shape: Shape, rng: np.random.Generator) -> Float:
    """Uniform in [-1, 1): the paper's data."""
    count = int(np.prod(shape))
    if count <= PIECE:
        return rng.uniform(-1.0, 1.0, shape)
    values, children = np.empty(count), rng.spawn(-(-count // PIECE))

    def draw_piece(number: int, piece: slice) -> None:
        part = values[piece]
        children[number].random(out=part)
        part *= 2.0
        part -= 1.0

    in_pieces(count, draw_piece)
    return values.reshape(shape)


def positive(shape: Shape, rng: np.random.Generator) -> Float:
    """Uniform in [0, 1): sums grow, nothing cancels."""
    return rng.uniform(0.0, 1.0, shape)


def normal(shape: Shape, rng: np.random.Generator) -> Float:
    """Standard normal."""
    return rng.standard_normal(shape)


def large_mean(shape: Shape, rng: np.random.Generator) -> Float:
    """Normal with mean 16 and deviation 1: a one-pass variance loses 8 bits on it."""
    return 16.0 + rng.standard_normal(shape)


def wide_range(shape: Shape, rng: np.random.Generator) -> Float:
    """Both signs, magnitudes from 2^-12 to 2^12 spread evenly over the exponents."""
    return rng.choice([-1.0, 1.0], shape) * np.exp2(rng.uniform(-12.0, 12.0, shape))


def cancellation(shape: Shape, rng: np.random.Generator) -> Float:
    """Neighbours along the last axis almost cancel: large, opposite, with a small rest."""
    values = rng.uniform(64.0, 128.0, shape)
    values[..., 1::2] = -values[..., : values.shape[-1] // 2 * 2 : 2]
    return values + rng.uniform(-1.0, 1.0, shape)


def ties(shape: Shape, rng: np.random.Generator) -> Float:
    """Only eight different values."""
    return rng.integers(-4, 4, shape) / 4.0


def ascending(shape: Shape, rng: np.random.Generator) -> Float:
    """Uniform in [-1, 1), ascending along the last axis."""
    return np.sort(rng.uniform(-1.0, 1.0, shape), axis=-1)


def special(shape: Shape, rng: np.random.Generator) -> Float:
    """Normal, with +infinity, NaN, both zeros, huge and tiny values among them."""
    values = rng.standard_normal(shape) * 3.0
    odd = np.array([np.inf, np.nan, 0.0, -0.0, 1e30, 1e-30, -1e-30])
    flat = values.reshape(-1)
    where = rng.permutation(flat.size)[: len(odd)]
    flat[where] = odd[: where.size]
    return values


def non_finite(shape: Shape, rng: np.random.Generator) -> Float:
    """As `special`, with -infinity too."""
    drawn = special(shape, rng)
    drawn.reshape(-1)[rng.integers(0, drawn.size, 1 + drawn.size // 50)] = -np.inf
    return drawn


def masked(shape: Shape, rng: np.random.Generator) -> Float:
    """Normal, with -infinity in half of the places; at least one element of each line of the last axis is finite."""
    values = rng.standard_normal(shape)
    hidden = rng.random(shape) < 0.5
    np.put_along_axis(hidden, rng.integers(0, shape[-1], (*shape[:-1], 1)), False, axis=-1)
    values[hidden] = -np.inf
    return values


def integers(shape: Shape, rng: np.random.Generator, terms: int = 1) -> Float:
    """Whole numbers, not 0, so small that a sum of `terms` products of two of them is exact in float, in any order.

    Raises:
        ValueError: the sum is too long for that (above 2^24 terms).
    """
    limit = min(8, int(np.sqrt(_EXACT_LIMIT / max(terms, 1))))
    if limit == 0:
        raise ValueError(f"integers: a sum of {terms} products is not exact in float")
    return rng.choice([-1.0, 1.0], shape) * rng.integers(1, limit + 1, shape)


def powers_of_two(shape: Shape, rng: np.random.Generator, terms: int = 1) -> Float:
    """±1/2, ±1, ±2: products need no rounding, sums of up to 2^20 of them neither."""
    if terms * 16 > _EXACT_LIMIT:
        raise ValueError(f"powers_of_two: a sum of {terms} products is not exact in float; use integers")
    return rng.choice([-1.0, 1.0], shape) * np.exp2(rng.integers(-1, 2, shape))


def one_hot(shape: Shape, rng: np.random.Generator) -> Float:
    """A single 1 in each line of the last axis, zeros elsewhere; one time in four it is the line's last element."""
    lines, length = int(np.prod(shape[:-1])), shape[-1]
    where = rng.integers(0, length, lines)
    where[rng.random(lines) < 0.25] = length - 1
    values = np.zeros((lines, length))
    values[np.arange(lines), where] = 1.0
    return values.reshape(shape)


def sixteen_bits(shape: Shape, rng: np.random.Generator) -> Float:
    """Numbers in ±[1, 2) with 16 significant bits: whole in float and in its split forms, cut by a 10-bit format."""
    return rng.choice([-1.0, 1.0], shape) * (1.0 + rng.integers(0, 2**15, shape) / 2.0**15)


_PLAIN: dict[str, Callable[[Shape, np.random.Generator], Float]] = {
    f.__name__: f
    for f in (
        uniform,
        positive,
        normal,
        large_mean,
        wide_range,
        cancellation,
        ties,
        ascending,
        special,
        masked,
        non_finite,
        sixteen_bits,
    )
}
_EXACT: dict[str, Callable[[Shape, np.random.Generator, int], Float]] = {
    f.__name__: f for f in (integers, powers_of_two)
}


EXCHANGEABLE = frozenset({"uniform", "positive", "normal", "large_mean", "wide_range"})
"""Distributions whose elements are drawn independently, so that no fixed order of summation is special."""


def values(distribution: str, shape: Shape, rng: np.random.Generator, terms: int = 1) -> Float:
    """Draw an array from a distribution by name.

    `terms` is the length of the longest sum of products that the data will enter; the exact distributions need it.

    Raises:
        ValueError: no such distribution.
    """
    if distribution in _EXACT:
        return _EXACT[distribution](shape, rng, terms)
    if distribution in _PLAIN:
        return _PLAIN[distribution](shape, rng)
    raise ValueError(
        f"unknown distribution {distribution!r}: one of {', '.join(sorted([*_PLAIN, *_EXACT, 'one_hot']))}"
    )


def factors(distribution: str, left: Shape, right: Shape, rng: np.random.Generator, terms: int) -> tuple[Float, Float]:
    """Draw the two arrays whose products are summed. `one_hot`: a selection on the left, plain values on the right."""
    if distribution == "one_hot":
        return one_hot(left, rng), sixteen_bits(right, rng)
    return values(distribution, left, rng, terms), values(distribution, right, rng, terms)


def row_lengths(pattern: str, rows: int, entries: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many of `entries` each row of a sparse matrix holds.

    `power_law`: few rows hold most, many hold none; `empty_rows`: every other row, and the last, holds none;
    `random`: each entry is in any row; anything else: all rows the same, give or take one.
    """
    if pattern == "random":
        return rng.multinomial(entries, np.full(rows, 1.0 / rows))
    if pattern == "power_law":
        weights = rng.permutation(1.0 / np.arange(1, rows + 1))
    elif pattern == "empty_rows" and rows > 1:
        weights = (np.arange(rows) % 2 == 0).astype(np.float64)
        weights[-1] = 0.0
    else:
        lengths = np.full(rows, entries // rows)
        lengths[: entries % rows] += 1
        return lengths
    return rng.multinomial(entries, weights / weights.sum())


def csr(
    pattern: str, rows: int, cols: int, entries: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row offsets and column indices of a sparse matrix; columns of a row unsorted, duplicates allowed.

    `pattern` as in `row_lengths`, or `banded`: columns near the diagonal, or `duplicates`: one or two columns in a row.
    """
    lengths = row_lengths(pattern, rows, entries, rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return offsets, _columns(pattern, np.repeat(np.arange(rows), lengths), rows, cols, rng)


def _columns(pattern: str, row: NDArray[np.int64], rows: int, cols: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column for each entry from its row."""
    if pattern == "banded":
        near: NDArray[np.int64] = np.clip(row * cols // rows + rng.integers(-8, 9, row.size), 0, cols - 1)
        return near
    if pattern == "duplicates":
        either: NDArray[np.int64] = (7 * row + rng.integers(0, 2, row.size)) % cols
        return either
    return rng.integers(0, cols, row.size)


def coo(
    pattern: str, rows: int, cols: int, entries: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column indices of a sparse matrix's entries, in any order, duplicates allowed.

    `pattern` as in `csr`, or `sorted`: by row. `even`: one entry in each row first, the rest anywhere.
    """
    if pattern == "even":
        first = np.arange(min(rows, entries))
        row = np.concatenate([first, rng.integers(0, rows, entries - first.size)])
    else:
        row = np.repeat(np.arange(rows), row_lengths(pattern, rows, entries, rng))
        if pattern != "sorted":
            rng.shuffle(row)
    return row, _columns(pattern, row, rows, cols, rng)


def ell(pattern: str, rows: int, cols: int, longest: int, entries: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the column indices [rows, longest] of a sparse matrix, -1 after the last entry of each row.

    `pattern` as in `csr`. Entries that are too many for their row go to rows with room, the first ones first.
    """
    lengths = row_lengths(pattern, rows, entries, rng)
    room = np.maximum(longest - lengths, 0)
    excess = int(np.sum(np.maximum(lengths - longest, 0)))
    lengths = np.minimum(lengths, longest) + np.clip(excess - (np.cumsum(room) - room), 0, room)
    filled = np.arange(longest) < lengths[:, None]
    columns = np.full((rows, longest), -1, np.int64)
    columns[filled] = _columns(pattern, np.nonzero(filled)[0], rows, cols, rng)
    return columns


def draw_stored(task: Task, case: Case, precision: Precision, seed: int) -> dict[str, NDArray[Any]]:
    """Draw the input arrays of a case: by name, in their shape, as they lie in memory (see `storage`).

    Raises:
        ValueError: the task's generator made an array of another name or shape than the contract's.
    """
    drawn = task.generate(case, precision, np.random.default_rng(seed))
    wanted = {a.name: a for a in task.contract.inputs if a.name not in case.null}
    if drawn.keys() != wanted.keys():
        raise ValueError(f"{task.name}: the generator made {sorted(drawn)}, the contract's inputs are {sorted(wanted)}")
    for name, argument in wanted.items():
        if drawn[name].shape != argument.extents(case.sizes):
            wanted_shape = argument.extents(case.sizes)
            raise ValueError(f"{task.name}: {name} has shape {drawn[name].shape}, wanted {wanted_shape}")
    return {name: to_storage(drawn.pop(name), a.dtype.resolve(precision)) for name, a in wanted.items()}


def draw(task: Task, case: Case, precision: Precision, seed: int) -> dict[str, NDArray[Any]]:
    """Draw the input arrays of a case: by name, in their shape, rounded to the storage type (float64, or int64)."""
    stored = draw_stored(task, case, precision, seed)
    types = {a.name: a.dtype.resolve(precision) for a in task.contract.inputs}
    return {name: from_storage(array, types[name]) for name, array in stored.items()}
