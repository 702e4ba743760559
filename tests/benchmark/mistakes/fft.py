"""What goes wrong in transforms."""

from __future__ import annotations

import numpy as np


def by(function):
    def fft(arrays, case, precision):
        out = function(arrays["in_re"] + 1j * arrays["in_im"])
        return {"out_re": out.real, "out_im": out.imag}

    return fft


def bits_reversed(N):
    """Return the places 0 … N − 1 with their bits in reverse."""
    bits = N.bit_length() - 1
    return np.array([int(f"{n:0{bits}b}"[::-1], 2) for n in range(N)])


def one_root_for_all(x):
    """The last stage without its roots."""
    even, odd = np.fft.fft(x[:, ::2]), np.fft.fft(x[:, 1::2])
    return np.concatenate([even + odd, even - odd], axis=1)


def last_stage_missing(x):
    return np.concatenate([np.fft.fft(x[:, ::2]), np.fft.fft(x[:, 1::2])], axis=1)


def one_block_lost(x):
    out = np.fft.fft(x)
    out[:, 32:64] = 0
    return out


MISTAKES = {
    "backward": by(lambda x: np.fft.ifft(x) * x.shape[1]),
    "divided by N": by(lambda x: np.fft.fft(x) / x.shape[1]),
    "input not reordered": by(lambda x: np.fft.fft(x[:, bits_reversed(x.shape[1])])),
    "output reordered": by(lambda x: np.fft.fft(x)[:, bits_reversed(x.shape[1])]),
    "over the batch": by(lambda x: np.fft.fft(x.ravel()).reshape(x.shape)),
    "last stage missing": by(last_stage_missing),
    "last stage without roots": by(one_root_for_all),
    "imaginary part lost": by(lambda x: np.fft.fft(x.real)),
    "parts exchanged": by(lambda x: 1j * np.conj(np.fft.fft(x))),
    "one block lost": by(one_block_lost),
    "the middle first": by(lambda x: np.fft.fftshift(np.fft.fft(x), axes=1)),
}
