"""Fill patterns of outputs before a call, and who still holds one afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PATTERNS = (0xFF, 0xA5)
"""Bytes. The first is NaN in float and bf16, the second a harmless small number: no right answer equals both."""


def holds_poison(output: NDArray[Any], pattern: int) -> NDArray[np.bool_]:
    """Return, per element of an output as it lies in memory, whether all its bytes are the pattern."""
    size = output.dtype.itemsize
    word = np.frombuffer(bytes([pattern]) * size, dtype=f"<u{size}")[0]
    held: NDArray[np.bool_] = np.ascontiguousarray(output).view(f"<u{size}") == word
    return held
