"""One explicit step of the heat equation in a box: a seven-point stencil."""

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
    entry="stencil_3d",
    arguments=(
        array_out("u_new", "nx", "ny", "nz"),
        array_in("u_old", "nx", "ny", "nz"),
        scalar("r", doc="time step over grid spacing squared"),
        size("nx", "planes: the slow axis"),
        size("ny"),
        size("nz", "the fast axis"),
    ),
)
_INSIDE = (slice(1, -1),) * 3


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"u_old": inputs.values(case.distribution, CONTRACT.arrays[1].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    u, r = arrays["u_old"], scalar_of(case, "r")
    value, magnitude = u.copy(), np.zeros_like(u)
    value[_INSIDE] += r * (_neighbours(u) - 6 * u[_INSIDE])
    if case.exact:
        return {"u_new": Expected(value)}
    magnitude[_INSIDE] = np.abs(r) * _neighbours(np.abs(u)) + (1 + 6 * abs(r)) * np.abs(u[_INSIDE])
    bound = rounding.bound(value, rounding.sum_error(magnitude, terms=8), DType.STORAGE.resolve(precision))
    return {"u_new": Expected(value, np.where(magnitude > 0, bound, 0.0))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    """Some planes, whole."""
    nx, u = case.sizes["nx"], arrays["u_old"]
    planes = sampling.rows(nx, rng, band=4)
    value, bound = u[planes].copy(), np.zeros((planes.size, *u.shape[1:]))
    for at, i in enumerate(planes):
        if 0 < i < nx - 1:
            part = reference({"u_old": u[i - 1 : i + 2]}, case, precision)["u_new"]
            value[at] = part.value[1]
            bound[at] = 0.0 if part.bound is None else part.bound[1]
    expected = Expected(value, None if case.exact else bound)
    return {"u_new": expected.at(sampling.whole_rows(planes, u[0].size))}


def _neighbours(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the six neighbours of every inner point."""
    along_x = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1]
    along_y = u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
    return along_x + along_y + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]


QUARTER = {"r": 0.25}

TASK = Task(
    name="stencil_3d",
    category="scientific",
    formula="u_new[i, j, k] = u[i, j, k] + r·(sum of the six neighbours of u[i, j, k] − 6·u[i, j, k]); border copied",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, scalars=QUARTER, nx=[1, 2, 3, 17], ny=[1, 3, 9], nz=[2, 3, 33]),
        *cases("small", "powers_of_two", exact=True, scalars={"r": 0.125}, nx=[5, 9], ny=11, nz=66),
        *cases("small", scalars=QUARTER, nx=[3, 16], ny=[4, 31], nz=[3, 64]),
        *cases("small", "normal", scalars={"r": 0.1}, nx=23, ny=29, nz=31),
        *cases("small", "wide_range", scalars=QUARTER, nx=13, ny=20, nz=37),
        *cases("small", "large_mean", scalars={"r": [0.0, 0.15]}, nx=18, ny=32, nz=33),
        *cases("paper", scalars=QUARTER, nx=[64, 128, 256], ny=[64, 128, 256], nz=[64, 128, 256]),
        *cases("large", scalars={"r": 0.125}, nx=[512, 600], ny=512, nz=640),
        *cases("hidden", "integers", exact=True, scalars={"r": 0.5}, nx=[2, 67], ny=35, nz=[1, 101]),
        *cases("hidden", "normal", scalars={"r": -0.3}, nx=[19, 130], ny=41, nz=23),
        *cases("hidden", scalars={"r": 0.15}, nx=7, ny=8, nz=2049),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["nx"] * s["ny"] * s["nz"],
    min_flops=lambda s: 8 * max(s["nx"] - 2, 0) * max(s["ny"] - 2, 0) * max(s["nz"] - 2, 0),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="4x4x4 blocks with threadIdx.x along the slow axis: no access is coalesced; the border has its own launch.",
    strategies=(
        "neighbouring threads on neighbouring addresses",
        "one launch for everything",
        "128-bit loads and stores",
        "several outputs per thread",
        "tiles in shared memory",
    ),
    notes="u_new is written, u_old is only read: the paper's harness passed them the other way round. The paper's "
    "r = 0.25 is past the limit of stability, 1/6, which matters to many steps, not to one.",
)
