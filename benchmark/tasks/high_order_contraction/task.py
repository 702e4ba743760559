"""Contraction of two higher-order tensors over two indices."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="high_order_contraction",
    arguments=(
        array_in("A", "a_dim", "x_dim", "b_dim", "y_dim"),
        array_in("B", "x_dim", "c_dim", "y_dim"),
        array_out("C", "a_dim", "b_dim", "c_dim"),
        size("a_dim"),
        size("b_dim"),
        size("c_dim"),
        size("x_dim"),
        size("y_dim"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    a, b, c, x, y = (case.sizes[f"{name}_dim"] for name in "abcxy")
    # Drawn as the factors of a matrix product, so that `one_hot` is a single 1 over all of (x, y).
    left, right = inputs.factors(case.distribution, (a, b, x * y), (x, y, c), rng, terms=x * y)
    return {"A": left.reshape(a, b, x, y).transpose(0, 2, 1, 3), "B": right.transpose(0, 2, 1)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    a, b = case.sizes["a_dim"], case.sizes["b_dim"]
    expected = _rows(arrays, np.arange(a * b), case, precision)
    shape = (a, b, case.sizes["c_dim"])
    bound = None if expected.bound is None else expected.bound.reshape(shape)
    return {"C": Expected(expected.value.reshape(shape), bound)}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    rows = sampling.rows(case.sizes["a_dim"] * case.sizes["b_dim"], rng)
    expected = _rows(arrays, rows, case, precision)
    return {"C": expected.at(sampling.whole_rows(rows, case.sizes["c_dim"]))}


def _rows(arrays: Arrays, rows: np.typing.NDArray[np.int64], case: Case, precision: Precision) -> Expected:
    """Return rows of C as a matrix [(a, b), c]: a matrix product over (x, y)."""
    terms = case.sizes["x_dim"] * case.sizes["y_dim"]
    a, b = np.divmod(rows, case.sizes["b_dim"])
    left = arrays["A"][a, :, b, :].reshape(rows.size, terms)
    right = arrays["B"].transpose(0, 2, 1).reshape(terms, case.sizes["c_dim"])
    value = left @ right
    if case.exact:
        return Expected(value)
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    absolute, squares = np.abs(left) @ np.abs(right), left**2 @ right**2
    magnitude = rounding.partial_sums(value, absolute, squares, exchangeable=exchangeable)
    error = rounding.sum_error(magnitude, terms=terms)
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


TASK = Task(
    name="high_order_contraction",
    category="scientific",
    formula="C[a, b, c] = Σ_{x, y} A[a, x, b, y]·B[x, c, y]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, a_dim=[1, 5], b_dim=[1, 9], c_dim=[1, 17], x_dim=[1, 8], y_dim=[3, 16]),
        *cases("small", "one_hot", exact=True, a_dim=3, b_dim=[16, 17], c_dim=20, x_dim=[4, 9], y_dim=7),
        *cases("small", "powers_of_two", exact=True, a_dim=7, b_dim=11, c_dim=13, x_dim=10, y_dim=10),
        *cases("small", a_dim=[2, 7], b_dim=[15, 16], c_dim=[16, 33], x_dim=[2, 8], y_dim=[1, 8]),
        *cases("small", "normal", a_dim=4, b_dim=31, c_dim=8, x_dim=16, y_dim=17),
        *cases("small", "large_mean", a_dim=2, b_dim=10, c_dim=34, x_dim=15, y_dim=9),
        *cases("small", "wide_range", a_dim=3, b_dim=21, c_dim=5, x_dim=6, y_dim=11),
        *cases("small", "cancellation", a_dim=4, b_dim=6, c_dim=12, x_dim=20, y_dim=10),
        *(
            case
            for a, b, c in ((32, 32, 32), (64, 32, 48), (128, 128, 64), (256, 256, 128))
            for xy in (8, 16)
            for case in cases("paper", a_dim=a, b_dim=b, c_dim=c, x_dim=xy, y_dim=xy)
        ),
        *cases("large", a_dim=512, b_dim=512, c_dim=256, x_dim=16, y_dim=[8, 16]),
        *cases("hidden", "integers", exact=True, a_dim=[1, 33], b_dim=31, c_dim=65, x_dim=[7, 13], y_dim=[5, 32]),
        *cases("hidden", "one_hot", exact=True, a_dim=19, b_dim=64, c_dim=35, x_dim=8, y_dim=[8, 31]),
        *cases("hidden", "normal", a_dim=[2, 50], b_dim=23, c_dim=19, x_dim=24, y_dim=11),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["a_dim"] * s["b_dim"] * s["c_dim"] * s["x_dim"] * s["y_dim"],
    min_flops=lambda s: s["a_dim"] * s["b_dim"] * s["c_dim"] * (2 * s["x_dim"] * s["y_dim"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread reads its row of A and of B from global memory for its one element, those of B a row apart.",
    strategies=(
        "tiles in shared memory",
        "several outputs per thread",
        "tensor cores (bf16)",
        "128-bit loads and stores",
        "double buffering",
    ),
    notes="A matrix product of [(a, b), (x, y)] and [(x, y), c] in disguise, and judged as one: `min_flops` counts "
    "inner products.",
    tensor_cores=True,
)
