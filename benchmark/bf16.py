"""bfloat16 in numpy: 16-bit patterns, the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_bf16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Round to the nearest bfloat16, ties to even; return the bit patterns in the same shape.

    One rounding only, also from float64: the step through float32 rounds to odd, so it can't create a false tie.
    NaN becomes 0x7FFF as on the GPU, and values beyond the largest bfloat16 become infinite.
    """
    wide = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):
        single = wide.astype(np.float32)
        bits = single.view(np.uint32)
        if wide.dtype != np.float32:
            bits = bits - (np.abs(single) > np.abs(wide)).astype(np.uint32)
            bits |= (single != wide).astype(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(wide), np.uint16(0x7FFF), rounded)


def from_bf16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the float32 values of bfloat16 bit patterns: exact."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)
