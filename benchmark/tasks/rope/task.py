"""Rotary position embedding, neighbouring elements paired."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases, scalar_of
from ...contract import Contract, DType, Precision, array_in, array_out, scalar, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="rope",
    arguments=(
        array_out("out", "batch", "M", "D"),
        array_in("in", "batch", "M", "D"),
        size("batch", "independent sequences"),
        size("M", "positions, from 0"),
        size("D", "even"),
        scalar("base", doc="above 1"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, CONTRACT.arrays[1].extents(case.sizes), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"out": _rotated(arrays["in"], np.arange(case.sizes["M"]), case, precision)}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    batch, M, D = CONTRACT.arrays[1].extents(case.sizes)
    chosen = sampling.rows(batch * M, rng)
    expected = _rotated(arrays["in"].reshape(-1, D)[chosen], chosen % M, case, precision)
    return {"out": expected.at(sampling.whole_rows(chosen, D))}


def _rotated(rows: NDArray[np.float64], positions: NDArray[np.int64], case: Case, precision: Precision) -> Expected:
    """Return the rotation of rows [..., positions, D] by their positions."""
    base, D = scalar_of(case, "base"), case.sizes["D"]
    exponent = np.arange(0, D, 2) / D
    angle = positions[:, None] * base**-exponent
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = rows[..., 0::2], rows[..., 1::2]
    value = np.stack([x * cosine - y * sine, x * sine + y * cosine], axis=-1).reshape(rows.shape)
    if case.exact:
        return Expected(value)
    # The power is at best e^(−exponent·ln base) in float: its argument rounds three times. Sine and cosine see the
    # error of the angle; the fast ones err by 2^-21.4 besides.
    of_angle = angle * (8 + 3 * exponent * np.log(base)) * UNIT
    reach = np.abs(x) + np.abs(y)
    error = np.repeat(reach * (np.minimum(of_angle, 2.0) + 2.0**-21.4 + 2 * UNIT), 2, axis=-1)
    return Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))


TASK = Task(
    name="rope",
    category="LLM sequence",
    formula="(out_2p, out_2p+1) = (x·cos θ − y·sin θ, x·sin θ + y·cos θ), (x, y) = (in_2p, in_2p+1), θ = "
    "m·base^(−2p/D), row m",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, scalars={"base": 10000.0}, batch=[1, 3], M=1, D=[2, 34, 258]),
        *cases("small", scalars={"base": 10000.0}, batch=1, M=[2, 17, 33], D=[2, 6, 62, 256]),
        *cases("small", scalars={"base": 10000.0}, batch=[2, 5], M=9, D=[64, 130]),
        *cases("small", "normal", scalars={"base": 10000.0}, batch=1, M=[50, 128], D=100),
        *cases("small", "wide_range", scalars={"base": 10000.0}, batch=2, M=31, D=66),
        *cases("paper", scalars={"base": 10000.0}, batch=1, M=[16, 32, 64, 128], D=[2**8, 2**10, 2**12, 2**14]),
        *cases("large", scalars={"base": 10000.0}, batch=[64, 128], M=4096, D=128),
        *cases("hidden", "normal", scalars={"base": [100.0, 500000.0]}, batch=[1, 3], M=[5, 300], D=[10, 128]),
        *cases("hidden", exact=True, scalars={"base": 500000.0}, batch=7, M=1, D=1022),
        *cases("hidden", scalars={"base": 10000.0}, batch=1, M=3, D=20_002),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    legal=lambda case: case.sizes["D"] % 2 == 0,
    complexity=lambda s: s["batch"] * s["M"] * s["D"],
    min_flops=lambda s: 3 * s["batch"] * (s["M"] - 1) * s["D"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every pair computes its own power, cosine and sine, and sine and cosine twice.",
    strategies=("sincosf", "angles shared by the batch", "128-bit loads and stores", "the power by exp2f"),
    notes="The paper's task is one sequence (batch = 1); users have many. Tables made on the host in the call are "
    "out: the call only enqueues work.",
)
