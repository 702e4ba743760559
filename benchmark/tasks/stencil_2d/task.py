"""One explicit step of the heat equation on a grid: a five-point stencil."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="stencil_2d",
    arguments=(
        array_out("u_new", "nx", "ny"),
        array_in("u_old", "nx", "ny"),
        scalar("r", doc="time step over grid spacing squared"),
        size("nx", "rows: the slow axis"),
        size("ny", "columns: the fast axis"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"u_old": inputs.values(case.distribution, (case.sizes["nx"], case.sizes["ny"]), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    u, r = arrays["u_old"], scalar_of(case, "r")
    value, magnitude = u.copy(), np.zeros_like(u)
    value[1:-1, 1:-1] += r * (_neighbours(u) - 4 * u[1:-1, 1:-1])
    if case.exact:
        return {"u_new": Expected(value)}
    magnitude[1:-1, 1:-1] = np.abs(r) * _neighbours(np.abs(u)) + (1 + 4 * abs(r)) * np.abs(u[1:-1, 1:-1])
    bound = rounding.bound(value, rounding.sum_error(magnitude, terms=6), DType.STORAGE.resolve(precision))
    return {"u_new": Expected(value, np.where(magnitude > 0, bound, 0.0))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    nx, ny = case.sizes["nx"], case.sizes["ny"]
    rows = sampling.rows(nx, rng)
    # Each row with the row before and after it; the border rows are their own neighbours, and copied below.
    around = np.clip(rows[:, None] + [-1, 0, 1], 0, nx - 1)
    part = [reference({"u_old": arrays["u_old"][three]}, case, precision)["u_new"] for three in around]
    value = np.stack([p.value[1] for p in part])
    bound = np.stack([np.zeros(ny) if p.bound is None else p.bound[1] for p in part])
    value[[0, -1]], bound[[0, -1]] = arrays["u_old"][[0, -1]], 0.0
    return {"u_new": Expected(value, None if case.exact else bound).at(sampling.whole_rows(rows, ny))}


def _neighbours(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the four neighbours of every inner point."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


QUARTER = {"r": 0.25}

TASK = Task(
    name="stencil_2d",
    category="scientific",
    formula="u_new[i, j] = u[i, j] + r·(u[i−1, j] + u[i+1, j] + u[i, j−1] + u[i, j+1] − 4·u[i, j]); border copied",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, scalars=QUARTER, nx=[1, 2, 3, 17, 65], ny=[1, 3, 33]),
        *cases("small", "powers_of_two", exact=True, scalars={"r": 0.125}, nx=[5, 31], ny=66),
        *cases("small", scalars=QUARTER, nx=[3, 16, 100], ny=[3, 31, 129]),
        *cases("small", "normal", scalars={"r": 0.1}, nx=37, ny=41),
        *cases("small", "wide_range", scalars=QUARTER, nx=20, ny=53),
        *cases("small", "large_mean", scalars={"r": [0.0, 0.2]}, nx=64, ny=65),
        *cases("paper", scalars=QUARTER, nx=[2**10, 2**12, 2**14], ny=[2**10, 2**12, 2**14]),
        *cases("large", scalars=QUARTER, nx=10_000, ny=20_000),
        *cases("hidden", "integers", exact=True, scalars={"r": 0.5}, nx=[130, 1021], ny=[4, 1027]),
        *cases("hidden", "normal", scalars={"r": -0.3}, nx=[2, 257], ny=511),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["nx"] * s["ny"],
    min_flops=lambda s: 6 * max(s["nx"] - 2, 0) * max(s["ny"] - 2, 0),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="threadIdx.x runs along the slow axis, so no access is coalesced; the border has a launch of its own.",
    strategies=("threadIdx.x on the fast axis", "one launch for everything", "tiles in shared memory", "128-bit loads"),
)
