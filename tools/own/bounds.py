"""Error bounds for a computation that nobody has analysed: its own sensitivity, measured, times a rounding model.

How much an output moves when every input is changed by a relative δ, divided by δ, is its condition: what one rounding
of relative size u can do is u times that. Sums of many terms add such roundings up; how many inputs an output depends
on is measured as well, by putting a NaN into one of them and counting where it comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...benchmark import rounding
from ...benchmark.contract import Contract, DType, Precision
from ...benchmark.task import Drawn, Expected

Compute = Callable[[Mapping[str, NDArray[Any]]], Drawn]

_CHANGES: Final = 4
"""Random changes of all inputs; the largest effect counts, so that no element looks insensitive by chance."""
_PROBES: Final = 2
"""Single inputs made NaN, for each array."""
_UNITS: Final = 16.0
"""Rounding units for functions such as expf and for the order of operations."""
_SEED: Final = 1


def bounded(
    compute: Compute,
    arrays: Mapping[str, NDArray[Any]],
    contract: Contract,
    precision: Precision,
    *,
    widen: float,
    terms: dict[str, float] | None = None,
) -> dict[str, Expected]:
    """Return the outputs of a computation with error bounds; whole-number outputs are exact.

    `widen`: 1 if the values are exact, 2 if they come from a kernel that rounds as the candidate does.
    `terms`: the lengths of the sums, if they are known from other data of the same case; filled if it is empty.
    """
    rng = np.random.default_rng(_SEED)
    with np.errstate(all="ignore"):
        found = compute(arrays)
        floats = [a for a in contract.inputs if a.dtype is not DType.I32]
        outputs = [a for a in contract.outputs if a.dtype is not DType.I32]
        if not outputs:
            return {name: Expected(value) for name, value in found.items()}
        low = any(a.dtype.resolve(precision) is DType.BF16 for a in contract.arrays)
        step = 2.0**-6 if low else 2.0**-10
        scale = {a.name: np.abs(found[a.name]) for a in outputs}
        for _ in range(_CHANGES):
            changed = dict(arrays)
            for a in floats:
                signs = rng.choice([-1.0, 1.0], arrays[a.name].shape)
                changed[a.name] = arrays[a.name] * (1.0 + step * signs)
            moved = compute(changed)
            for name, most in scale.items():
                effect = np.abs(moved[name] - found[name]) / step
                scale[name] = np.fmax(most, np.where(np.isfinite(effect), effect, 0.0))
        terms = {} if terms is None else terms
        if not terms:
            terms |= _terms(compute, arrays, found, [a.name for a in floats], rng)
        expected = {}
        for a in contract.outputs:
            if a.name not in scale:
                expected[a.name] = Expected(found[a.name])
                continue
            units = rounding.growth(terms[a.name]) + _UNITS * rounding.UNIT
            if low:  # intermediates may be rounded to the storage type
                units = units + 2.0 * rounding.unit_roundoff(DType.BF16)
            error = widen * units * scale[a.name]
            bound = rounding.bound(found[a.name], error, a.dtype.resolve(precision))
            expected[a.name] = Expected(found[a.name], bound)
    return expected


def _terms(
    compute: Compute, arrays: Mapping[str, NDArray[Any]], found: Drawn, floats: list[str], rng: np.random.Generator
) -> dict[str, float]:
    """Return how many elements of an input an element of each output depends on, on average."""
    most = dict.fromkeys(found, 1.0)
    for name in floats:
        reached = dict.fromkeys(found, 0)
        for _ in range(_PROBES):
            probed = {**arrays, name: arrays[name].copy()}
            probed[name].flat[rng.integers(probed[name].size)] = np.nan
            for output, value in compute(probed).items():
                reached[output] += int(np.count_nonzero(np.isnan(value) & ~np.isnan(found[output])))
        for output, count in reached.items():
            most[output] = max(most[output], count / _PROBES * arrays[name].size / max(1, found[output].size))
    return most
