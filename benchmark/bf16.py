"""bfloat16 in numpy: 16-bit patterns, the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .parallel import in_pieces

_BLOCK = 1 << 16
"""Elements that are rounded at a time: their temporaries stay in the cache."""


def to_bf16(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Round to the nearest bfloat16, ties to even; return the bit patterns in the same shape.

    One rounding only, also from float64: the step through float32 rounds to odd, so it can't create a false tie.
    NaN becomes 0x7FFF as on the GPU, and values beyond the largest bfloat16 become infinite.
    """
    wide = np.asarray(values)
    flat, rounded = wide.reshape(-1), np.empty(wide.size, np.uint16)

    def round_piece(_: int, piece: slice) -> None:
        for start in range(piece.start, piece.stop, _BLOCK):
            block = slice(start, min(start + _BLOCK, piece.stop))
            rounded[block] = _round(flat[block])

    in_pieces(flat.size, round_piece)
    return rounded.reshape(wide.shape)


def _round(wide: NDArray[Any]) -> NDArray[np.uint16]:
    with np.errstate(over="ignore", invalid="ignore"):
        single = wide.astype(np.float32)
        bits = single.view(np.uint32)
        if wide.dtype != np.float32:
            bits = bits - (np.abs(single) > np.abs(wide))
            bits |= single != wide
        bits = (bits + (0x7FFF + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    return np.where(np.isnan(wide), np.uint16(0x7FFF), bits.astype(np.uint16))


def from_bf16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the float32 values of bfloat16 bit patterns: exact."""
    return np.left_shift(bits, np.uint32(16), dtype=np.uint32).view(np.float32)
