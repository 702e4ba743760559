"""Wrong answers that any judge must reject: what mistakes and cheats make of a right answer, no compiler needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from cudamaster.benchmark.contract import DType, Precision
from cudamaster.benchmark.inputs import draw
from cudamaster.benchmark.rounding import half_spacing
from cudamaster.benchmark.storage import from_storage, to_storage
from cudamaster.benchmark.task import Case, Expected, Task
from numpy.typing import NDArray

Numbers = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Right:
    """A right answer and what it was computed from; numbers are float64 or int64, rounded to the storage type."""

    task: Task
    case: Case
    precision: Precision
    seed: int
    inputs: Numbers
    expected: dict[str, Expected]

    @cached_property
    def outputs(self) -> Numbers:
        """The right outputs, rounded to the storage type."""
        return {n: _stored(e.value, self.dtype(n)) for n, e in self.expected.items()}

    def recompute(self, inputs: Numbers) -> Numbers:
        """Return the right answer for other inputs."""
        with np.errstate(all="ignore"):
            expected = self.task.reference(inputs, self.case, self.precision)
        return {n: _stored(e.value, self.dtype(n)) for n, e in expected.items()}

    def dtype(self, name: str) -> DType:
        """Return the concrete type of an array."""
        return next(a.dtype for a in self.task.contract.arrays if a.name == name).resolve(self.precision)


def _stored(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    return from_storage(to_storage(values, dtype), dtype)


def right(task: Task, case: Case, precision: Precision, seed: int) -> Right:
    """Draw a case's inputs and compute its right answer."""
    inputs = draw(task, case, precision, seed)
    with np.errstate(all="ignore"):
        return Right(task, case, precision, seed, inputs, task.reference(inputs, case, precision))


Mutant = Callable[[Right], Numbers]
"""Makes wrong outputs from right ones. Where it can't (one element only, say) it may return them unchanged."""


def _each(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Mutant:
    """Change every output, flattened, on its own copy."""

    def mutant(r: Right) -> Numbers:
        return {name: change(array.ravel().copy()).reshape(array.shape) for name, array in r.outputs.items()}

    return mutant


def _one(index: Callable[[NDArray[Any]], int], value: Callable[[Any], Any]) -> Mutant:
    """Change one element of every output."""

    def change(flat: NDArray[Any]) -> NDArray[Any]:
        flat[index(flat)] = value(flat[index(flat)])
        return flat

    return _each(change)


def _other(value: Any) -> Any:
    """Return another number of the same size, or 1 for 0 and what is not finite."""
    return -value if np.isfinite(value) and value != 0 else 1


def _not_a_number(value: Any) -> Any:
    return np.nan if isinstance(value, np.floating) else value - 7


def _infinite(value: Any) -> Any:
    return np.inf if isinstance(value, np.floating) else value + 7


def _tail_missing(flat: NDArray[Any]) -> NDArray[Any]:
    flat[-(flat.size % 4 or 4) :] = 0
    return flat


def _tile_starts(flat: NDArray[Any]) -> NDArray[Any]:
    flat[::32] = np.roll(flat, -1)[::32]
    return flat


def _copy_of_an_input(r: Right) -> Numbers:
    source = next(iter(r.inputs.values())).ravel()
    return {name: np.resize(source, array.shape) for name, array in r.outputs.items()}


def _a_few_units_off(r: Right) -> Numbers:
    """Move the largest finite element by 64 units in the last place of float, 4 of bfloat16, 1 of an index."""
    moved = {}
    for name, array in r.outputs.items():
        flat, dtype = array.ravel().copy(), r.dtype(name)
        at = int(np.argmax(np.where(np.isfinite(flat), np.abs(flat), -1)))
        step = 1 if dtype is DType.I32 else {DType.F32: 128, DType.BF16: 8}[dtype] * half_spacing(flat[at], dtype)
        flat[at] = flat[at] - step if np.isfinite(flat[at]) else 0
        moved[name] = flat.reshape(array.shape)
    return moved


def _cut(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Round to fewer significant bits: 11 instead of float's 24 (as TF32 and half), 4 instead of bfloat16's 8."""
    if dtype is DType.I32:
        return array
    mantissa, exponent = np.frexp(array)
    bits = 11 if dtype is DType.F32 else 4
    return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)


def _coarse_outputs(r: Right) -> Numbers:
    return {name: _cut(array, r.dtype(name)) for name, array in r.outputs.items()}


def _floating_inputs(r: Right) -> list[str]:
    return [name for name in r.inputs if r.dtype(name) is not DType.I32]


def _coarse_inputs(r: Right) -> Numbers:
    return r.recompute({name: _cut(array, r.dtype(name)) for name, array in r.inputs.items()})


def _an_input_lost(which: Callable[[NDArray[Any]], int]) -> Mutant:
    """Compute as if one element of the first floating input were not there."""

    def mutant(r: Right) -> Numbers:
        name = _floating_inputs(r)[0]
        changed = r.inputs[name].copy()
        changed.reshape(-1)[which(changed)] = 0
        return r.recompute({**r.inputs, name: changed})

    return mutant


def _inputs_shifted(r: Right) -> Numbers:
    name = _floating_inputs(r)[0]
    return r.recompute({**r.inputs, name: np.roll(r.inputs[name].ravel(), 1).reshape(r.inputs[name].shape)})


MUTANTS: dict[str, Mutant] = {
    "zeros": _each(np.zeros_like),
    "constant mean": _each(lambda flat: np.full_like(flat, np.mean(flat))),
    "copy of an input": _copy_of_an_input,
    "answer of another seed": lambda r: right(r.task, r.case, r.precision, r.seed + 1).outputs,
    "twice the answer": _each(lambda flat: flat * 2),
    "negated": _each(lambda flat: -flat),
    "five percent off": _each(lambda flat: flat * 1.05 if flat.dtype.kind == "f" else flat + 1),
    "shifted by one": _each(lambda flat: np.roll(flat, 1)),
    "reversed": _each(lambda flat: flat[::-1]),
    "last element wrong": _one(lambda flat: flat.size - 1, _other),
    "first element wrong": _one(lambda flat: 0, _other),
    "middle element wrong": _one(lambda flat: flat.size // 2, _other),
    "first element of each tile wrong": _each(_tile_starts),
    "tail missing": _each(_tail_missing),
    "one NaN": _one(lambda flat: flat.size // 3, _not_a_number),
    "one infinity": _one(lambda flat: flat.size // 3, _infinite),
    "a few units off": _a_few_units_off,
    "coarse outputs": _coarse_outputs,
    "coarse inputs": _coarse_inputs,
    "last input lost": _an_input_lost(lambda array: array.size - 1),
    "middle input lost": _an_input_lost(lambda array: array.size // 2),
    "inputs shifted by one": _inputs_shifted,
}  # fmt: skip
"""By what they do. A task may be immune to some (its outputs don't change): then there is nothing to reject."""
