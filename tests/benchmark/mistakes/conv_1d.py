"""What goes wrong in convolutions."""

from __future__ import annotations

import numpy as np

from .matrix_mul import tensor_float


def by(function):
    return lambda arrays, case, precision: {"output": function(arrays["input"], arrays["kernel"])}


def halo_lost(x, w, tile=256):
    """The stretch after a tile counts as zero."""
    out = np.zeros(x.size - w.size + 1)
    for start in range(0, out.size, tile):
        part = np.zeros(tile + w.size - 1)
        stretch = x[start : start + tile]
        part[: stretch.size] = stretch
        out[start : start + tile] = np.correlate(part, w, "valid")[: out.size - start]
    return out


MISTAKES = {
    "filter turned round": by(lambda x, w: np.convolve(x, w, "valid")),
    "last tap lost": by(lambda x, w: np.correlate(x, np.where(np.arange(w.size) == w.size - 1, 0, w), "valid")),
    "at most 256 taps": by(lambda x, w: np.correlate(x, np.where(np.arange(w.size) < 256, w, 0), "valid")),
    "same instead of valid": by(lambda x, w: np.correlate(x, w, "same")[: x.size - w.size + 1]),
    "halo of a tile lost": by(halo_lost),
    "last output lost": by(lambda x, w: np.append(np.correlate(x, w, "valid")[:-1], 0)),
}
ONLY_FP32 = {"TF32": by(lambda x, w: np.correlate(tensor_float(x), tensor_float(w), "valid"))}
