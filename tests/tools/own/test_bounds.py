"""Measured bounds: an honest sum in another order is inside, a lost term is outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_out, size
from cudamaster.benchmark.task import Expected
from cudamaster.tools.own.bounds import bounded

N = 4096
CONTRACT = Contract(
    entry="f", arguments=(array_out("y", "R"), array_in("x", "R * N"), size("R"), size("N"))
)  # fmt: skip


def rows(x: Any, length: int = N) -> Any:
    return x.reshape(-1, length)


COMPUTATIONS = {
    "sum": lambda a: {"y": rows(a["x"]).sum(1)},
    "logsumexp": lambda a: {"y": np.log(np.exp(rows(a["x"])).sum(1))},
    "norm": lambda a: {"y": np.sqrt((rows(a["x"]) ** 2).sum(1))},
}


def single(name: str, x: Any, order: Any) -> Any:
    """The same in float32, one term after the other, in some order."""
    x = rows(x).astype(np.float32)[:, order]
    if name == "logsumexp":
        x = np.exp(x)
    if name == "norm":
        x = x * x
    total = np.add.accumulate(x, axis=1, dtype=np.float32)[:, -1]
    return {"sum": lambda t: t, "logsumexp": np.log, "norm": np.sqrt}[name](total)


def expected(name: str, x: Any, precision: Precision = Precision.FP32) -> Expected:
    return bounded(COMPUTATIONS[name], {"x": x}, CONTRACT, precision, widen=1.0)["y"]


@pytest.mark.parametrize("name", sorted(COMPUTATIONS))
def test_other_orders_of_summation_are_inside_and_a_lost_term_is_outside(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 64 * N).astype(np.float32).astype(np.float64)
    want = expected(name, x)
    assert want.bound is not None
    for order in (np.arange(N), np.arange(N)[::-1], rng.permutation(N)):
        ratio = np.abs(single(name, x, order) - want.value) / want.bound
        assert ratio.max() < 0.6
    short = np.abs(single(name, x, np.arange(N - 1)) - want.value) / want.bound
    assert np.count_nonzero(short > 1) > 16


def test_elementwise_bounds_are_a_few_units() -> None:
    contract = Contract(entry="f", arguments=(array_out("y", "N"), array_in("x", "N"), size("N")))
    x = np.random.default_rng(1).uniform(0.5, 1, N)
    want = bounded(lambda a: {"y": 3 * a["x"]}, {"x": x}, contract, Precision.FP32, widen=2.0)["y"]
    assert want.bound is not None
    assert np.max(want.bound / want.value) < 100 * 2.0**-24


def test_whole_numbers_are_exact() -> None:
    contract = Contract(
        entry="f", arguments=(array_out("y", "N", dtype=DType.I32), array_in("x", "N"), size("N"))
    )  # fmt: skip
    x = np.arange(8.0)
    assert bounded(lambda a: {"y": np.arange(8)}, {"x": x}, contract, Precision.FP32, widen=2.0)["y"].bound is None


def test_bf16_allows_intermediates_in_the_storage_type() -> None:
    x = np.random.default_rng(1).uniform(-1, 1, 4 * N)
    fine, coarse = expected("norm", x), expected("norm", x, Precision.BF16)
    assert fine.bound is not None
    assert coarse.bound is not None
    assert np.all(coarse.bound > 50 * fine.bound)
