"""What goes wrong in convolutions of images."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .matrix_mul import tensor_float


def by(function):
    return lambda arrays, case, precision: {"output": function(arrays["input"], arrays["kernel"])}


def convolve(x, w):
    return np.einsum("rcij,ij->rc", sliding_window_view(x, w.shape), w)


def without(w, tap):
    w = w.copy()
    w[tap] = 0
    return w


def as_square(x, w):
    """The number of columns of the filter taken for that of its rows too."""
    side = min(w.shape)
    short = np.zeros_like(w)
    short[:side, :side] = w[:side, :side]
    return convolve(x, short)


def edge(x, w, rows=16, cols=16):
    """Outputs outside whole tiles are lost."""
    out = convolve(x, w)
    out[out.shape[0] // rows * rows :] = 0
    out[:, out.shape[1] // cols * cols :] = 0
    return out


MISTAKES = {
    "filter turned round": by(lambda x, w: convolve(x, w[::-1, ::-1])),
    "filter transposed": by(lambda x, w: convolve(x, w.T.reshape(w.shape))),
    "last tap lost": by(lambda x, w: convolve(x, without(w, (-1, -1)))),
    "filter taken as square": by(as_square),
    "at most 32 taps a side": by(lambda x, w: convolve(x, np.pad(w[:32, :32], [(0, max(n - 32, 0)) for n in w.shape]))),
    "partial tiles lost": by(edge),
}
ONLY_FP32 = {"TF32": by(lambda x, w: convolve(tensor_float(x), tensor_float(w)))}
