"""Honest powers: the factors in any order, by squaring, and intermediate powers in float or in the storage type."""

from __future__ import annotations

from functools import reduce

import numpy as np
from cudamaster.benchmark.contract import DType
from cudamaster.benchmark.storage import from_storage, to_storage

from .sums import F, pairwise


def rounded(X, precision):
    dtype = DType.STORAGE.resolve(precision)
    return from_storage(to_storage(X, dtype), dtype).astype(F)


def in_float(X, precision):
    return X.astype(F)


def chain(multiply, keep):
    def power(arrays, case, precision):
        factors = [arrays["A"].astype(F)] * case.sizes["P"]
        return {"B": reduce(lambda X, Y: keep(multiply(X, Y), precision), factors)}

    return power


def squaring(multiply, keep):
    def power(arrays, case, precision):
        square, result = arrays["A"].astype(F), None
        for bit in bin(case.sizes["P"])[:1:-1]:
            if bit == "1":
                result = square if result is None else keep(multiply(result, square), precision)
            square = keep(multiply(square, square), precision)
        return {"B": result}

    return power


VARIANTS = {
    "a factor at a time": chain(np.matmul, rounded),
    "from the right": chain(lambda X, Y: Y @ X, rounded),
    "in float": chain(np.matmul, in_float),
    "in a tree": chain(lambda X, Y: pairwise(X[:, None, :] * Y.T[None]), rounded),
    "squaring": squaring(np.matmul, rounded),
    "squaring in float": squaring(np.matmul, in_float),
}
