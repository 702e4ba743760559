"""One output against its expected value and bound, element by element, and the sentence that says where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...benchmark.contract import Argument, DType, Precision
from ...benchmark.parallel import in_pieces
from ...benchmark.storage import from_storage, to_storage
from ...benchmark.task import Expected
from .poison import holds_poison

_PIECE = 1 << 18
"""Elements that are compared at a time: their temporaries stay in the cache."""
_NONE = np.empty(0, np.int64)
_MOST = 1e9
"""Ratios are cut here: JSON has no infinity."""
_LARGEST = {DType.F32: float(np.finfo(np.float32).max), DType.BF16: 3.3895313892515355e38}


@dataclass(frozen=True)
class Comparison:
    """What the comparison of one output found."""

    ok: bool
    worst_ratio: float
    """Largest |error| ÷ bound; 0 if an exact comparison holds."""
    bad_elements: int
    elements: int
    reason: str = ""


def compare(
    output: NDArray[Any],
    expected: Expected,
    argument: Argument,
    precision: Precision,
    sizes: Mapping[str, int],
    poison: int,
) -> Comparison:
    """Compare an output as it lies in memory with what is expected: the whole of it, or the sample in `expected`.

    Without a bound: equal to the value rounded to the output's type, -0 = +0. With one: |output − value| ≤ bound.
    NaN must meet NaN, and an infinity the same infinity. `poison` is the byte that filled the output before the call.
    """
    dtype = argument.dtype.resolve(precision)
    bits, value = np.ravel(output), np.ravel(expected.value)
    bounds = None if expected.bound is None else np.ravel(expected.bound)
    pieces = -(-bits.size // _PIECE)
    largest, wrong, ratios = [0.0] * pieces, [_NONE] * pieces, [np.empty(0)] * pieces

    def look(number: int, piece: slice) -> None:
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            bound = None if bounds is None else bounds[piece]
            ratio = _ratios(from_storage(bits[piece], dtype), value[piece], bound, dtype)
        largest[number] = float(np.max(ratio))
        over = np.flatnonzero(ratio > 1.0)
        wrong[number], ratios[number] = over + piece.start, ratio[over]

    in_pieces(bits.size, look, _PIECE)
    worst, bad = min(max(largest, default=0.0), _MOST), np.concatenate([_NONE, *wrong])
    if not bad.size:
        return Comparison(True, worst, 0, bits.size)
    index = int(bad[np.argmax(np.concatenate(ratios))])
    place = _Place(argument.name, argument.extents(sizes), expected.positions)
    bound = None if bounds is None else float(bounds[index])
    got = from_storage(bits[[index]], dtype)[0]
    reason = f"{place(index)} is {got:.9g}, should be {_wanted(value[index], bound, dtype)}"
    if bound and np.isfinite(got) and np.isfinite(value[index]):
        reason += f" (error {abs(got - value[index]):.3g}, {worst:.3g} times the bound)"
    reason += _where(place, bad, bits.size)
    held = np.count_nonzero(holds_poison(bits[bad], poison))
    if held:
        reason += f"; {held:,} of the wrong elements were never written (they hold the fill pattern 0x{poison:02X})"
    elif np.all(from_storage(bits[bad], dtype) == 0.0):
        reason += "; all wrong elements are 0"
    return Comparison(False, worst, int(bad.size), bits.size, reason)


def _ratios(got: NDArray[Any], value: NDArray[Any], bound: NDArray[Any] | None, dtype: DType) -> NDArray[np.float64]:
    """Return |error| ÷ bound per element: 0 where equal, huge where NaN or an infinity is out of place."""
    if bound is None:
        return np.where(_same(got, value, dtype), 0.0, _MOST)
    ratio: NDArray[np.float64] = np.abs(got - value) / bound
    odd = np.flatnonzero(~np.isfinite(ratio))
    if odd.size:
        ratio[odd] = _odd_ratios(got[odd], value[odd], bound[odd], dtype)
    return ratio


def _same(got: NDArray[Any], value: NDArray[Any], dtype: DType) -> NDArray[np.bool_]:
    rounded = from_storage(to_storage(value, dtype), dtype)
    same: NDArray[np.bool_] = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return same


def _odd_ratios(got: NDArray[Any], value: NDArray[Any], bound: NDArray[Any], dtype: DType) -> NDArray[np.float64]:
    """Return the ratios where a bound is 0, or something is infinite or NaN."""
    same, error = _same(got, value, dtype), np.abs(got - value)
    ratio = np.where(bound > 0, error / np.where(bound > 0, bound, 1.0), np.where(error > 0, _MOST, 0.0))
    finite = np.isfinite(value) & np.isfinite(got)
    if dtype in _LARGEST:
        may_overflow = np.isinf(got) & (np.sign(got) == np.sign(value)) & (np.abs(value) + bound >= _LARGEST[dtype])
        same |= may_overflow & np.isfinite(value)
    ratio = np.where(finite, ratio, _MOST)
    return np.where(same & ~finite, 0.0, ratio)


@dataclass(frozen=True)
class _Place:
    """Names the elements of an output: `C[3, 17]`."""

    name: str
    shape: tuple[int, ...]
    positions: NDArray[np.int64] | None

    def __call__(self, index: int) -> str:
        flat = index if self.positions is None else int(self.positions[index])
        return f"{self.name}[{', '.join(str(int(i)) for i in np.unravel_index(flat, self.shape))}]"


def _wanted(value: float, bound: float | None, dtype: DType) -> str:
    if bound is None:
        exact = from_storage(to_storage(np.array([value]), dtype), dtype)[0]
        return f"{exact:.9g} exactly"
    return f"{value:.9g} ± {bound:.2g}"


def _where(place: _Place, bad: NDArray[np.intp], elements: int) -> str:
    """Say how many are wrong and which: the shape of the damage points to the mistake."""
    of = f"{elements:,} elements" if place.positions is None else f"{elements:,} sampled elements"
    if bad.size == 1:
        return f"; 1 of {of} is wrong"
    text = f"; {bad.size:,} of {of} are wrong"
    if bad.size == elements:
        return text
    text += f", from {place(int(bad[0]))} to {place(int(bad[-1]))}"
    if bad[-1] - bad[0] == bad.size - 1:
        return text + (" (the tail)" if bad[-1] == elements - 1 else " (all between)")
    step = int(bad[1] - bad[0])
    return text + (f" (every {step}th)" if np.all(np.diff(bad) == step) and place.positions is None else "")
