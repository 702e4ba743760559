"""What goes wrong in softmaxes."""

from __future__ import annotations

import numpy as np


def softmax(x, axis=1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def by(function):
    return lambda arrays, case, precision: {"out": function(arrays["in"])}


def without_the_maximum(x):
    e = np.exp(x.astype(np.float32))
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float64)


def online_with_infinity(x):
    """One pass; -infinity minus -infinity is NaN before the first finite element."""
    largest, total = np.full(len(x), -np.inf), np.zeros(len(x))
    for column in x.T:
        new = np.maximum(largest, column)
        total = total * np.exp(largest - new) + np.exp(column - new)
        largest = new
    return np.exp(x - largest[:, None]) / total[:, None]


MISTAKES = {
    "columns instead of rows": by(lambda x: softmax(x, axis=0)),
    "the whole matrix": by(lambda x: softmax(x.reshape(1, -1)).reshape(x.shape)),
    "without the maximum": by(without_the_maximum),
    "maximum from 0": by(lambda x: softmax(np.maximum(x, 0))),
    "only 1024 rows": by(lambda x: np.where(np.arange(len(x))[:, None] < 1024, softmax(x), 0)),
    "only whole warps summed": by(
        lambda x: (
            np.exp(x - x.max(axis=1, keepdims=True))
            / np.exp(x - x.max(axis=1, keepdims=True))[:, : max(x.shape[1] // 32 * 32, 1)].sum(axis=1, keepdims=True)
        )
    ),
    "online, infinities": by(online_with_infinity),
    "not divided": by(lambda x: np.exp(x - x.max(axis=1, keepdims=True))),
}
