"""Honest contractions: those of a matrix product over (x, y)."""

from __future__ import annotations

from . import matrix_mul


def by(product):
    def contraction(arrays, case, precision):
        a, b, c, x, y = (case.sizes[f"{name}_dim"] for name in "abcxy")
        left = arrays["A"].transpose(0, 2, 1, 3).reshape(a * b, x * y)
        right = arrays["B"].transpose(0, 2, 1).reshape(x * y, c)
        sizes = case.model_copy(update={"sizes": {"M": a * b, "N": c, "K": x * y}})
        return {"C": product({"A": left, "B": right}, sizes, precision)["C"].reshape(a, b, c)}

    return contraction


VARIANTS = {name: by(product) for name, product in matrix_mul.VARIANTS.items()}
