"""Power of a square matrix."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

Float = NDArray[np.float64]

CONTRACT = Contract(
    entry="matrix_power",
    arguments=(array_in("A", "N", "N"), array_out("B", "N", "N"), size("N"), size("P", "1 or more: 1 gives A")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    N, P = case.sizes["N"], case.sizes["P"]
    if case.distribution == "signs":
        return {"A": _signs(N, P, rng)}
    if case.distribution == "cycle":
        return {"A": _cycle(N, P, rng)}
    return {"A": inputs.values(case.distribution, (N, N), rng)}


def _signs(N: int, P: int, rng: Generator) -> Float:
    """So few ±1 in each row that all powers up to P hold whole numbers up to 256: exact in bf16 too."""
    per_row = min(N, int(256 ** (1 / P) + 1e-9))
    columns = np.argsort(rng.random((N, N)), axis=1)[:, :per_row]
    A = np.zeros((N, N))
    np.put_along_axis(A, columns, rng.choice([-1.0, 1.0], columns.shape), axis=1)
    return A


def _cycle(N: int, P: int, rng: Generator) -> Float:
    """A permutation of a single cycle with weights: P steps meet a number of 16 bits once, powers of two otherwise."""
    weights = rng.choice([-1.0, 1.0], N) * np.exp2(rng.integers(-1, 2, N))
    rich = np.arange(N // P) * P
    weights[rich] = inputs.sixteen_bits(rich.shape, rng)
    order = rng.permutation(N)
    A = np.zeros((N, N))
    A[order, np.roll(order, -1)] = weights
    return A


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    A, P = arrays["A"], case.sizes["P"]
    if P == 1:
        return {"B": Expected(A)}
    if case.exact:
        return {"B": Expected(np.linalg.matrix_power(A, P))}
    storage = DType.STORAGE.resolve(precision)
    if case.distribution in inputs.EXCHANGEABLE:
        value, error = _independent_errors(A, P, storage)
    else:
        value, error = np.linalg.matrix_power(A, P), _any_errors(A, P, storage)
    return {"B": Expected(value, rounding.bound(value, error, storage))}


def _any_errors(A: Float, P: int, storage: DType) -> Float:
    """Return the largest error whatever the data: each product errs by a share of |X|·|Y|, whose product is |A|^P.

    A tree of P − 1 products has P − 2 intermediate ones, which may be rounded to the storage type.
    """
    of_product, stored = rounding.growth(len(A)) + UNIT, rounding.unit_roundoff(storage)
    relative = np.expm1((P - 1) * np.log1p(of_product) + (P - 2) * np.log1p(stored))
    return np.asarray(relative * np.linalg.matrix_power(np.abs(A), P))


def _independent_errors(A: Float, P: int, storage: DType) -> tuple[Float, Float]:
    """Return A^P and its largest error for independent elements, where |A|^P is far above what sums reach.

    In whatever order the factors are multiplied, an intermediate A^i with errors E enters the result as A^a·E·A^b,
    a + i + b = P. Independent errors of root mean square e make a random sum of size ‖row of A^a‖·e·‖column of A^b‖.
    The bound is P − 2 times the largest of these, four standard deviations wide, and the error of the last product.
    """
    powers = [A]
    for _ in range(P - 1):
        powers.append(powers[-1] @ A)
    rows = [np.ones(len(A)), *(np.linalg.norm(power, axis=1) for power in powers)]
    columns = [np.ones(len(A)), *(np.linalg.norm(power, axis=0) for power in powers)]
    size = [1.0, *(float(np.sqrt(np.mean(power**2))) for power in powers)]
    of_product, stored = rounding.growth(len(A)) + UNIT, rounding.unit_roundoff(storage)

    # Partial sums of the product A^j·A^(i−j) reach four times ‖row of A^j‖·(root mean square of A^(i−j)).
    value = powers[-1]
    reached = np.max([np.outer(rows[j], np.ones(len(A))) * size[P - j] for j in range(1, P)], axis=0)
    final = of_product * (np.abs(value) + 4 * reached)
    passed_on = np.zeros_like(value)
    for i in range(2, P):
        partial = max(float(np.sqrt(np.mean(rows[j] ** 2))) * size[i - j] for j in range(1, i))
        err = stored * size[i] + of_product * (size[i] + 4 * partial)
        for a in range(P - i + 1):
            passed_on = np.maximum(passed_on, np.outer(rows[a], err * columns[P - i - a]))
    return value, final + 4 * (P - 2) * passed_on


TASK = Task(
    name="matrix_power",
    category="dense matrix",
    formula="B = A^P",
    contract=CONTRACT,
    cases=(
        *cases("small", "signs", exact=True, N=[1, 2, 15, 17, 33, 48], P=[1, 2, 3, 5]),
        *cases("small", "signs", exact=True, N=65, P=[2, 8]),
        *cases("small", "cycle", exact=True, N=[16, 31, 34], P=[2, 5, 7]),
        *cases("small", N=[1, 5, 16, 33], P=[1, 2, 3, 4, 8]),
        *cases("small", N=64, P=[2, 16]),
        *cases("small", "normal", N=[20, 47], P=[2, 3]),
        *cases("small", "positive", N=31, P=[2, 6]),
        *cases("small", "wide_range", N=18, P=2),
        *cases("small", "cancellation", N=14, P=3),
        *cases("paper", N=[256, 512, 1024], P=[2, 5, 8, 11, 16]),
        *cases("large", N=8192, P=3),
        *cases("hidden", "signs", exact=True, N=[127, 3], P=[4, 6, 13]),
        *cases("hidden", "cycle", exact=True, N=[77, 130], P=[3, 17]),
        *cases("hidden", "normal", N=[19, 100], P=[7, 10]),
        *cases("hidden", N=129, P=[1, 12]),
    ),
    generate=generate,
    reference=reference,
    complexity=lambda s: s["N"] ** 3 * s["P"],
    min_flops=lambda s: (s["P"] - 1).bit_length() * s["N"] ** 2 * (2 * s["N"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="P − 1 products where squaring needs about log2 P, each naive and followed by a copy of the whole matrix.",
    strategies=(
        "powers by squaring, log2 P products",
        "tiles in shared memory",
        "several outputs per thread",
        "tensor cores (bf16)",
        "one launch for everything",
    ),
    notes="Any association of the factors is legal, and bf16 kernels may round the running product once per factor. "
    "P = 1 gives A (the paper's kernel gives A²). All copies are on the device, temporaries lie in the workspace. "
    "`min_flops` counts ⌈log2 P⌉ products of inner products.",
    tensor_cores=True,
)
