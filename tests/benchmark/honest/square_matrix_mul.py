"""Honest products of square matrices: as of rectangular ones."""

from __future__ import annotations

from .matrix_mul import VARIANTS as OF_RECTANGLES


def square(variant):
    def compute(arrays, case, precision):
        sizes = {"M": case.sizes["M"], "N": case.sizes["M"], "K": case.sizes["M"]}
        return variant(arrays, case.model_copy(update={"sizes": sizes}), precision)

    return compute


VARIANTS = {name: square(variant) for name, variant in OF_RECTANGLES.items()}
