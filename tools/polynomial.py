"""Index expressions as polynomials with whole coefficients."""

from __future__ import annotations

Poly = dict[tuple[str, ...], int]
"""Sorted product of atoms (variables, `blockIdx.x`, opaque expressions) → coefficient; `()` is the constant's."""


def add(a: Poly, b: Poly, sign: int = 1) -> Poly:
    """Return a + sign·b."""
    total = dict(a)
    for product, coefficient in b.items():
        total[product] = total.get(product, 0) + sign * coefficient
    return {product: c for product, c in total.items() if c}


def multiply(a: Poly, b: Poly) -> Poly:
    """Return a·b."""
    total: Poly = {}
    for of_a, x in a.items():
        for of_b, y in b.items():
            product = tuple(sorted(of_a + of_b))
            total[product] = total.get(product, 0) + x * y
    return {product: c for product, c in total.items() if c}
