"""Causal attention in which every channel of a head has its own scores and weights."""

from __future__ import annotations

from collections.abc import Mapping

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
    entry="triangle_attention",
    arguments=(
        array_in("query", "batch", "heads", "seq", "head_dim"),
        array_in("key", "batch", "heads", "seq", "head_dim"),
        array_in("value", "batch", "heads", "seq", "head_dim"),
        array_in(
            "attention_mask", "batch", "seq", "seq", dtype=DType.F32, doc="float in both precisions; above 0.5: masked"
        ),
        array_out("output", "batch", "heads", "seq", "head_dim"),
        size("batch"),
        size("heads"),
        size("seq"),
        size("head_dim"),
    ),
)
_TAYLOR_REACH = 1.5
"""Scores up to here: the power series of the exponential is good to double precision after a few terms."""


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    shape, seq = CONTRACT.arrays[0].extents(case.sizes), case.sizes["seq"]
    mask = np.broadcast_to(np.triu(np.ones((seq, seq)), 1), (case.sizes["batch"], seq, seq)).copy()
    if case.distribution == "equal_weights":
        # All scores are 0, and a power of two keys is left: the result is a plain mean of small whole numbers.
        mask = _power_of_two_left(mask.shape, rng)
        drawn = {"query": np.zeros(shape), "key": inputs.uniform(shape, rng)}
        return {**drawn, "value": inputs.values("integers", shape, rng, terms=seq), "attention_mask": mask}
    if case.distribution == "random_mask":
        # Both sides of the threshold, on and above the diagonal too; about one row in six has no key left.
        mask = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], mask.shape)
        mask[rng.random(mask.shape[:2]) < 1 / 6] = 1.0
        return {**{n: inputs.normal(shape, rng) for n in ("query", "key", "value")}, "attention_mask": mask}
    plain = {name: inputs.values(case.distribution, shape, rng) for name in ("query", "key", "value")}
    return {**plain, "attention_mask": mask}


def _power_of_two_left(shape: tuple[int, ...], rng: Generator) -> NDArray[np.float64]:
    """Return a mask that leaves a random power of two of the keys up to each position."""
    batch, seq, _ = shape
    rank = np.argsort(np.argsort(np.where(np.tri(seq), rng.random(shape), 2.0), axis=-1), axis=-1)
    most = np.floor(np.log2(np.arange(1, seq + 1)))
    left = 2 ** rng.integers(0, most.astype(int) + 1, (batch, seq))
    return (rank >= left[..., None]).astype(np.float64)


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    seq = case.sizes["seq"]
    q = arrays["query"] / np.sqrt(case.sizes["head_dim"])
    k, v = arrays["key"], arrays["value"]
    allowed = (arrays["attention_mask"] <= 0.5) & np.tri(seq, dtype=bool)
    reach = float(np.max(np.abs(q)) * np.max(np.abs(k)))
    weighted = _by_series if reach <= _TAYLOR_REACH else _directly
    value = weighted(q, k, v, allowed, reach)
    if case.exact:
        return {"output": Expected(value)}
    keys = np.sum(allowed, axis=2)[:, None, :, None]
    # Products, sums and exponentials in float. A weight's error moves the result towards or away from one value.
    largest = np.maximum.accumulate(np.abs(v), axis=2)
    of_weight = rounding.exp_error(np.abs(q) * 2 * np.maximum.accumulate(np.abs(k), axis=2)) + 4 * UNIT
    error = np.where(keys > 0, (of_weight + rounding.growth(keys)) * (largest + np.abs(value)), 0.0)
    return {"output": Expected(value, rounding.bound(value, error, DType.STORAGE.resolve(precision)))}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    """Some heads, whole."""
    heads = sampling.rows(case.sizes["heads"], rng, band=16)
    part = {name: array if name == "attention_mask" else array[:, heads] for name, array in arrays.items()}
    expected = reference(part, case, precision)["output"]
    rows = np.arange(case.sizes["batch"])[:, None] * case.sizes["heads"] + heads
    return {"output": expected.at(sampling.whole_rows(rows.ravel(), case.sizes["seq"] * case.sizes["head_dim"]))}


def _by_series(
    q: NDArray[np.float64],
    k: NDArray[np.float64],
    v: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    reach: float,
) -> NDArray[np.float64]:
    """Return the weighted means by e^(q·k) = Σ_n qⁿkⁿ/n!, whose sums over the keys are shared by all queries."""
    causal = bool(np.array_equal(allowed, np.broadcast_to(np.tri(q.shape[2], dtype=bool), allowed.shape)))
    above, below = np.zeros_like(v), np.zeros_like(v)
    power, factor = np.ones_like(k), np.ones_like(q)
    n, size_of_term = 0, 1.0
    while size_of_term > 1e-18:
        above += factor * _over_keys(power * v, allowed, causal)
        below += factor * _over_keys(power, allowed, causal)
        n += 1
        power, factor, size_of_term = power * k, factor * (q / n), size_of_term * reach / n
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _over_keys(terms: NDArray[np.float64], allowed: NDArray[np.bool_], causal: bool) -> NDArray[np.float64]:
    """Sum terms [batch, heads, key, channel] over the keys that each query may see."""
    return np.cumsum(terms, axis=2) if causal else allowed[:, None].astype(np.float64) @ terms


def _directly(
    q: NDArray[np.float64],
    k: NDArray[np.float64],
    v: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    reach: float,
) -> NDArray[np.float64]:
    """Return the weighted means as they are defined, one query position after the other."""
    value = np.zeros_like(v)
    for i in range(q.shape[2]):
        seen = allowed[:, None, i, : i + 1, None]
        scores = np.where(seen, q[:, :, i, None] * k[:, :, : i + 1], -np.inf)
        largest = np.max(scores, axis=2, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
        total = np.sum(weights, axis=2)
        mean = np.sum(weights * v[:, :, : i + 1], axis=2)
        value[:, :, i] = np.divide(mean, total, out=np.zeros_like(mean), where=total > 0)
    return value


def _min_bytes(sizes: Mapping[str, int], precision: Precision) -> int:
    """All arrays once, but of the mask only the part with j ≤ i."""
    upper = sizes["batch"] * sizes["seq"] * (sizes["seq"] - 1) // 2
    return compulsory_bytes(CONTRACT)(sizes, precision) - upper * DType.F32.itemsize


_PAPER = tuple(
    case
    for batch, heads, seq, head_dim in (
        (1, 32, 512, 128),
        (1, 96, 256, 128),
        (1, 48, 1024, 128),
        (2, 16, 256, 256),
        (2, 64, 512, 128),
        (4, 8, 32, 128),
        (4, 32, 512, 128),
        (8, 16, 512, 128),
    )
    for case in cases("paper", batch=batch, heads=heads, seq=seq, head_dim=head_dim)
)

TASK = Task(
    name="triangle_attention",
    category="LLM sequence",
    formula="output[i, d] = Σ_j w_j·value[j, d], w = softmax over unmasked j ≤ i of query[i, d]·key[j, d]/√head_dim",
    contract=CONTRACT,
    cases=(
        *cases("small", "equal_weights", exact=True, batch=[1, 2], heads=3, seq=[1, 17, 64], head_dim=[1, 9]),
        *cases("small", batch=1, heads=[1, 2], seq=[1, 2, 31, 33], head_dim=[1, 17, 64]),
        *cases("small", "normal", batch=2, heads=3, seq=25, head_dim=[4, 40]),
        *cases("small", "random_mask", batch=[1, 3], heads=2, seq=[5, 32, 50], head_dim=[3, 33]),
        *cases("small", "large_mean", batch=1, heads=2, seq=20, head_dim=16),
        *_PAPER,
        *cases("large", batch=8, heads=64, seq=[256, 512], head_dim=128),
        *cases("hidden", "random_mask", batch=2, heads=[1, 5], seq=[30, 65], head_dim=[24, 130]),
        *cases("hidden", "equal_weights", exact=True, batch=1, heads=2, seq=130, head_dim=20),
        *cases("hidden", "normal", batch=1, heads=1, seq=200, head_dim=7),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["batch"] * s["heads"] * s["seq"] ** 2 * s["head_dim"],
    min_flops=lambda s: 0,
    min_bytes=_min_bytes,
    waste="Every output goes over the keys three times, with two exponentials per key.",
    strategies=(
        "one pass (online softmax)",
        "keys and values shared by several queries",
        "fast exponential",
        "128-bit loads",
    ),
    notes="Not the attention of dot products: each channel d has scores of its own. The mask counts on j ≤ i as "
    "well; a row with no key left is 0. The lower bounds are for the paper's mask; sums over keys can be shared, "
    "so no count of operations is proven.",
)
