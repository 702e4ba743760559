"""Attention of one or more heads, without a mask."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ... import inputs, rounding, sampling
from ...cases import cases
from ...contract import Contract, DType, Precision, array_in, array_out, size
from ...rounding import UNIT
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="softmax_attention",
    arguments=(
        array_out("Y", "batch", "q_len", "dim_v"),
        array_in("Q", "batch", "q_len", "dim_qk"),
        array_in("K", "batch", "kv_len", "dim_qk"),
        array_in("V", "batch", "kv_len", "dim_v"),
        size("batch", "heads times sequences"),
        size("q_len"),
        size("kv_len"),
        size("dim_qk"),
        size("dim_v"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    q, k, v = (a.extents(case.sizes) for a in CONTRACT.inputs)
    if case.distribution == "equal_weights":
        # All scores are 0, and kv_len is a power of two: the result is a plain mean of small whole numbers, of one
        # sign, so that their sums outgrow the 8 bits of a sum kept in bf16.
        values = np.abs(inputs.values("integers", v, rng, terms=case.sizes["kv_len"]))
        return {"Q": np.zeros(q), "K": inputs.uniform(k, rng), "V": values}
    if case.distribution == "selection":
        return {"Q": _one_key_each(q, k, rng), "K": _marked_keys(k), "V": inputs.uniform(v, rng)}
    return {name: inputs.values(case.distribution, shape, rng) for name, shape in zip("QKV", (q, k, v), strict=True)}


def _marked_keys(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Key j points along axis j of the last min(kv_len, dim_qk) keys; the others are 0."""
    keys = np.zeros(shape)
    marked = min(shape[1:])
    keys[:, shape[1] - marked + np.arange(marked), np.arange(marked)] = 64.0
    return keys


def _one_key_each(queries: tuple[int, ...], keys: tuple[int, ...], rng: Generator) -> NDArray[np.float64]:
    """Every query points along the axis of one of the marked keys, so that it alone has weight."""
    drawn = np.zeros(queries)
    axis = rng.integers(0, min(keys[1:]), queries[:2])
    np.put_along_axis(drawn, axis[..., None], 64.0, axis=-1)
    return drawn


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    heads = [_attention(q, k, v, case, precision) for q, k, v in zip(*(arrays[n] for n in "QKV"), strict=True)]
    value = np.stack([v for v, _ in heads])
    if case.exact:
        return {"Y": Expected(value)}
    error = np.stack([e for _, e in heads])
    return {"Y": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    """Some queries of every head."""
    q_len, dim_v = case.sizes["q_len"], case.sizes["dim_v"]
    queries = sampling.rows(q_len, rng)
    expected = reference({**arrays, "Q": arrays["Q"][:, queries]}, case, precision)["Y"]
    rows = np.arange(case.sizes["batch"])[:, None] * q_len + queries
    return {"Y": expected.at(sampling.whole_rows(rows.ravel(), dim_v))}


def _attention(
    q: NDArray[np.float64], k: NDArray[np.float64], v: NDArray[np.float64], case: Case, precision: Precision
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the output of one head and its largest error before the last rounding.

    Scores, exponentials and weights may be rounded to the storage type. Sums of products are bounded by norms
    (Cauchy and Schwarz) instead of products of absolute values, which saves two more matrix products.
    """
    exchangeable = case.distribution in inputs.EXCHANGEABLE
    kv_len, dim_qk = k.shape
    root = np.sqrt(dim_qk)
    scores = q @ k.T / root
    below = scores - np.max(scores, axis=1, keepdims=True)
    weights = np.exp(below)
    weights /= np.sum(weights, axis=1, keepdims=True)
    value = weights @ v

    absolute = np.outer(np.linalg.norm(q, axis=1), np.linalg.norm(k, axis=1)) / root
    squares = np.outer(*(np.sqrt(np.sum(x**4, axis=1)) for x in (q, k))) / dim_qk
    reached = rounding.partial_sums(scores, absolute, squares, exchangeable=exchangeable)
    stored = rounding.unit_roundoff(DType.STORAGE.resolve(precision))
    of_score = rounding.sum_error(reached, terms=dim_qk) + (2 * UNIT + stored) * np.abs(scores)
    # A weight's error moves the result by that weight times (v − y), at most 2·(1 − weight)·max|v|; rounding a weight
    # after the sum was taken moves it by weight·v. Where rounding errors are independent, they add up as squares.
    of_weight = of_score + rounding.exp_error(below) + stored
    moved = _sum_of(weights * of_weight * (1.0 - weights), exchangeable)
    rounded = stored * _sum_of(weights, exchangeable)
    largest = np.max(np.abs(v), axis=0, keepdims=True)
    random = np.sum(weights**2, axis=1, keepdims=True) * largest**2
    of_sum = rounding.growth(kv_len) * rounding.partial_sums(value, largest, random, exchangeable=exchangeable)
    return value, (2 * moved + rounded) * largest + of_sum + (rounding.growth(kv_len) + 4 * UNIT) * np.abs(value)


def _sum_of(errors: NDArray[np.float64], independent: bool) -> NDArray[np.float64]:
    """Return the largest sum of errors per row: of their sizes, or four standard deviations of independent ones."""
    worst: NDArray[np.float64] = np.sum(errors, axis=1, keepdims=True)
    if not independent:
        return worst
    likely: NDArray[np.float64] = 4.0 * np.sqrt(np.sum(errors**2, axis=1, keepdims=True))
    return np.minimum(worst, likely)


_PAPER = tuple(
    case
    for q_len, kv_len, dim_qk, dim_v in (
        (128, 256, 512, 512),
        (256, 512, 1024, 1024),
        (512, 1024, 2048, 2048),
        (1024, 2048, 4096, 4096),
        (256, 1024, 2048, 1024),
        (512, 512, 1024, 2048),
        (1024, 1024, 4096, 2048),
        (128, 2048, 512, 4096),
    )
    for case in cases("paper", batch=1, q_len=q_len, kv_len=kv_len, dim_qk=dim_qk, dim_v=dim_v)
)

TASK = Task(
    name="softmax_attention",
    category="LLM sequence",
    formula="Y = softmax(Q·Kᵀ/√dim_qk)·V",
    contract=CONTRACT,
    cases=(
        *cases(
            "small",
            "equal_weights",
            exact=True,
            batch=[1, 3],
            q_len=[1, 17],
            kv_len=[1, 8, 64],
            dim_qk=5,
            dim_v=[1, 33],
        ),
        *cases("small", "selection", batch=2, q_len=9, kv_len=[3, 33, 65], dim_qk=[4, 48], dim_v=20),
        *cases("small", batch=1, q_len=[1, 16, 33], kv_len=[2, 31, 100], dim_qk=[1, 64], dim_v=[16, 63]),
        *cases("small", "normal", batch=[2, 5], q_len=7, kv_len=45, dim_qk=40, dim_v=24),
        *cases("small", "large_mean", batch=1, q_len=8, kv_len=20, dim_qk=12, dim_v=9),
        *_PAPER,
        *cases("large", batch=128, q_len=1024, kv_len=1024, dim_qk=128, dim_v=128),
        *cases("large", batch=256, q_len=512, kv_len=1024, dim_qk=64, dim_v=64),
        *cases("hidden", "equal_weights", exact=True, batch=1, q_len=3, kv_len=512, dim_qk=65, dim_v=31),
        *cases("hidden", "normal", batch=3, q_len=[5, 67], kv_len=[1, 129], dim_qk=80, dim_v=48),
        *cases("hidden", "selection", batch=1, q_len=40, kv_len=257, dim_qk=72, dim_v=130),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["batch"] * s["q_len"] * s["kv_len"] * (s["dim_qk"] + s["dim_v"] + 1),
    min_flops=lambda s: s["batch"] * s["q_len"] * s["kv_len"] * (2 * s["dim_qk"] + 2 * s["dim_v"] - 2),
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Both products read their operands from global memory for every multiply-add, all scores go through "
    "memory, and the softmax has a thread per row.",
    strategies=(
        "one fused kernel with an online softmax",
        "tiles in shared memory",
        "tensor cores (bf16)",
        "split keys",
    ),
    notes="The paper's task is one head (batch = 1). No allocation in the call: the scores lie in the workspace. "
    "`min_flops` counts inner products.",
    tensor_cores=True,
)
