"""Inclusive prefix sums of one or more rows."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="prefix_sum",
    arguments=(
        array_out("out", "rows", "N"),
        array_in("in", "rows", "N"),
        size("rows", "independent rows"),
        size("N", "elements of a row"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape = CONTRACT.arrays[1].extents(case.sizes)
    return {"in": inputs.values(case.distribution, shape, rng, terms=case.sizes["N"])}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    x = arrays["in"]
    value = np.cumsum(x, axis=1)
    if case.exact:
        return {"out": Expected(value)}
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    absolute, squares = np.cumsum(np.abs(x), axis=1), np.cumsum(x**2, axis=1)
    magnitude = rounding.partial_sums(value, absolute, squares, exchangeable=exchangeable)
    # Element i is a sum of i + 1 terms, whatever sums of stretches it is put together from.
    error = rounding.growth(np.arange(1, x.shape[1] + 1)) * magnitude
    return {"out": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


TASK = Task(
    name="prefix_sum",
    category="sort and scan",
    formula="out[r, i] = Σ_{j ≤ i} in[r, j]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, rows=1, N=[1, 2, 31, 33, 256, 257, 500, 1025, 3001]),
        *cases("small", "integers", exact=True, rows=[2, 7], N=[5, 64, 150]),
        *cases("small", "powers_of_two", exact=True, rows=3, N=129),
        *cases("small", rows=1, N=[1, 3, 32, 127, 513]),
        *cases("small", "normal", rows=[2, 5], N=[40, 200]),
        *cases("small", "positive", rows=1, N=[300, 530]),
        *cases("small", "large_mean", rows=2, N=255),
        *cases("small", "wide_range", rows=3, N=130),
        *cases("small", "cancellation", rows=2, N=201),
        *cases("paper", rows=1, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", rows=2**13, N=2**13),
        *cases("large", rows=2**7, N=2**18),
        *cases("hidden", "integers", exact=True, rows=1, N=[5003, 300_007]),
        *cases("hidden", "integers", exact=True, rows=[3, 100], N=[11, 513]),
        *cases("hidden", "normal", rows=[1, 6], N=[77, 2049]),
        *cases("hidden", "positive", rows=2, N=1023),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.rowwise(reference, "in"),
    complexity=lambda s: s["rows"] * s["N"] ** 2,
    reference_operations=lambda s: s["rows"] * s["N"],
    min_flops=lambda s: s["rows"] * (s["N"] - 1),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread adds up its whole prefix again: N²/2 additions and loads where 2·N would do.",
    strategies=(
        "a scan within blocks, then over blocks",
        "sums by warp shuffles",
        "one launch for everything",
        "128-bit loads and stores",
        "neighbouring threads on neighbouring addresses",
    ),
    notes="The paper's task is one row (rows = 1); users scan many. Every element counts, within its bound (the paper "
    "lets 1 % of them be wrong), and sums are kept in float: bf16 rounds at the store only.",
)
