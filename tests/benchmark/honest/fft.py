"""Honest transforms: decimation in time or in frequency, by matrix products; roots exact, fast or in bfloat16."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.bf16 import from_bf16, to_bf16
from cudamaster.benchmark.contract import Precision

from .sums import F

C = np.complex64


def in_bf16(values):
    """Round real and imaginary part to bfloat16."""
    return (from_bf16(to_bf16(values.real)) + 1j * from_bf16(to_bf16(values.imag))).astype(C)


def fast(N):
    """Roots by the fast sine and cosine of a float angle: off by up to 2^-21.4."""
    angle = F(-2 * np.pi) * np.arange(N // 2, dtype=F) / F(N)
    noise = F(2.0**-21.4) * np.sin(np.arange(N // 2) * 1e3).astype(F)
    return (np.cos(angle) + noise + 1j * (np.sin(angle) - noise)).astype(C)


def exact(N):
    return np.exp(-2j * np.pi * np.arange(N // 2) / N).astype(C)


def in_time(x, roots, stored):
    """Radix 2, decimation in time; `stored` rounds what is kept after each stage."""
    N = x.shape[-1]
    if N == 1:
        return x
    even, odd = in_time(x[..., ::2], roots, stored), in_time(x[..., 1::2], roots, stored)
    turned = odd * roots(N)
    return stored(np.concatenate([even + turned, even - turned], axis=-1))


def in_frequency(x, roots, stored):
    N = x.shape[-1]
    if N == 1:
        return x
    upper, lower = x[..., : N // 2], x[..., N // 2 :]
    even, odd = stored(upper + lower), stored((upper - lower) * roots(N))
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = in_frequency(even, roots, stored), in_frequency(odd, roots, stored)
    return out


def by_products(x, roots, stored):
    """Two factors of N, each a product with the matrix of its roots, as on tensor cores."""
    N = x.shape[-1]
    first = 1 << (N.bit_length() // 2)
    second = N // first

    def matrix(n):
        return stored(np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n).astype(C))

    inner = stored(np.einsum("kn,...nm->...km", matrix(first), x.reshape(*x.shape[:-1], first, second)).astype(C))
    turn = np.exp(-2j * np.pi * np.outer(np.arange(first), np.arange(second)) / N).astype(C)
    outer = np.einsum("...km,jm->...jk", stored(inner * turn), matrix(second)).astype(C)
    return outer.reshape(x.shape)


def by(transform, roots=exact, rounded=False):
    def fft(arrays, case, precision):
        bf16 = rounded and precision is Precision.BF16
        x = (arrays["in_re"] + 1j * arrays["in_im"]).astype(C)
        roots_used = (lambda N: in_bf16(roots(N))) if bf16 else roots
        out = transform(x, roots_used, in_bf16 if bf16 else lambda values: values)
        return {"out_re": out.real, "out_im": out.imag}

    return fft


VARIANTS = {
    "in time": by(in_time),
    "in time, fast roots": by(in_time, fast),
    "in time, rounded": by(in_time, rounded=True),
    "in frequency": by(in_frequency),
    "in frequency, rounded": by(in_frequency, fast, rounded=True),
    "by products": by(by_products),
    "by products, rounded": by(by_products, rounded=True),
}
