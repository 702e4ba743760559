"""Batch normalization: every column is standardized over its rows."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases, scalar_of
from ...contract import Contract, Precision, array_in, array_out, scalar, size
from ...normalization import standardize, weighted
from ...task import Arrays, Case, Drawn, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="batch_norm",
    arguments=(
        array_out("out", "N", "C"),
        array_in("in", "N", "C"),
        array_in("gamma", "C"),
        array_in("beta", "C"),
        scalar("eps"),
        size("N", "rows"),
        size("C", "columns"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    N, C = case.sizes["N"], case.sizes["C"]
    return {
        "in": inputs.values(case.distribution, (N, C), rng),
        "gamma": inputs.uniform((C,), rng),
        "beta": inputs.uniform((C,), rng),
    }


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    normalized, error = standardize(arrays["in"], scalar_of(case, "eps"), axis=0, exchangeable=exchangeable)
    return {"out": weighted(normalized, error, arrays["gamma"], arrays["beta"], precision)}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    N, C = case.sizes["N"], case.sizes["C"]
    columns = sampling.rows(C, rng)
    expected = reference({name: array[..., columns] for name, array in arrays.items()}, case, precision)["out"]
    return {"out": expected.at(np.arange(N)[:, None] * C + columns)}


TASK = Task(
    name="batch_norm",
    category="normalization",
    formula="out[n, c] = gamma[c]·(in[n, c] − mean_c)/√(var_c + eps) + beta[c], var_c = Σ_n (in[n, c] − mean_c)²/N",
    contract=CONTRACT,
    cases=(
        *cases("small", scalars={"eps": 1e-5}, N=[1, 2, 5, 33], C=[1, 3, 31, 257]),
        *cases("small", scalars={"eps": 1e-5}, N=1025, C=7),
        *cases("small", "normal", scalars={"eps": 1e-5}, N=100, C=[64, 129]),
        *cases("small", "large_mean", scalars={"eps": 1e-5}, N=[6, 511], C=17),
        *cases("small", "wide_range", scalars={"eps": 1e-5}, N=40, C=33),
        *cases("small", "ties", scalars={"eps": 1e-3}, N=12, C=5),
        *cases("paper", scalars={"eps": 1e-5}, N=[16, 64, 256, 1024], C=[16, 64, 256, 1024]),
        *cases("large", scalars={"eps": 1e-5}, N=[2**14, 2**16], C=2**10),
        *cases("hidden", "normal", scalars={"eps": [1e-5, 0.1]}, N=[3, 1500], C=[1, 65]),
        *cases("hidden", "large_mean", scalars={"eps": 1e-3}, N=2047, C=[30, 100]),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["N"] * s["C"],
    min_flops=lambda s: 4 * s["N"] * s["C"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="A thread per column: a few threads walk down long columns one element at a time, three times in all.",
    strategies=(
        "several threads per column",
        "one pass for mean and variance (Welford)",
        "a grid over rows too",
        "128-bit loads",
    ),
    notes="The variance must be as accurate as from deviations: the paper's E[x²] − mean² loses everything where "
    "the mean is large. Statistics are float; the scratch memory is the workspace, not allocated in the call.",
)
