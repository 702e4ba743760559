"""Between numbers and what lies in device memory: float32, bit patterns of bfloat16, int32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bf16 import from_bf16, to_bf16
from .contract import Contract, DType, Precision

_NUMPY: dict[DType, type[np.generic]] = {DType.F32: np.float32, DType.BF16: np.uint16, DType.I32: np.int32}


def numpy_type(dtype: DType) -> np.dtype[Any]:
    """Return the numpy type that holds a concrete element type in memory."""
    return np.dtype(_NUMPY[dtype])


def to_storage(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Round numbers to a concrete type (nearest, ties to even) and return them as they lie in memory."""
    if dtype is DType.BF16:
        return to_bf16(array)
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(numpy_type(dtype))


def from_storage(bits: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Return the numbers in an array as it lies in memory: float64, or int64 for indices. Exact."""
    if dtype is DType.I32:
        return bits.astype(np.int64)
    values: NDArray[Any] = from_bf16(bits) if dtype is DType.BF16 else bits
    return values.astype(np.float64)


def stored(arrays: Mapping[str, NDArray[Any]], contract: Contract, precision: Precision) -> dict[str, NDArray[Any]]:
    """Return a contract's arrays, by name, as they lie in memory in a unit of this precision."""
    types = {a.name: a.dtype.resolve(precision) for a in contract.arrays}
    return {name: to_storage(array, types[name]) for name, array in arrays.items()}
