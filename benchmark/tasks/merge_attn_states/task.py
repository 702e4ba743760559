"""Two partial attentions over different keys, merged by their log-sum-exps."""

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
    entry="merge_attn_states",
    arguments=(
        array_out("V_out", "num_tokens", "num_heads", "head_size"),
        array_out("LSE_out", "num_heads", "num_tokens", nullable=True),
        array_in("V_a", "num_tokens", "num_heads", "head_size"),
        array_in(
            "lse_a", "num_heads", "num_tokens", doc="infinite, of either sign: part a saw no key and has weight 0"
        ),
        array_in("V_b", "num_tokens", "num_heads", "head_size"),
        array_in("lse_b", "num_heads", "num_tokens", doc="as lse_a"),
        size("num_tokens"),
        size("num_heads"),
        size("head_size"),
    ),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    V_a, lse_a, V_b, lse_b = (a.extents(case.sizes) for a in CONTRACT.inputs)
    plain = "uniform" if case.distribution in ("one_side", "some_infinite", "far_apart") else case.distribution
    drawn = {"V_a": inputs.values(plain, V_a, rng), "V_b": inputs.values(plain, V_b, rng)}
    drawn |= {"lse_a": inputs.values(plain, lse_a, rng), "lse_b": inputs.values(plain, lse_b, rng)}
    if case.distribution == "far_apart":
        drawn["lse_a"] *= 40.0
    if case.distribution == "one_side":
        left = rng.random(lse_a) < 0.5
        drawn["lse_a"][left], drawn["lse_b"][~left] = -np.inf, -np.inf
    if case.distribution == "some_infinite":
        for name in ("lse_a", "lse_b"):
            drawn[name][rng.random(lse_a) < 0.4] = -np.inf
            drawn[name][rng.random(lse_a) < 0.1] = np.inf
    return drawn


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    storage = DType.STORAGE.resolve(precision)
    a, b = (np.where(np.isinf(arrays[name]), -np.inf, arrays[name]) for name in ("lse_a", "lse_b"))
    LSE = np.logaddexp(a, b)
    seen = np.isfinite(LSE)
    w_a, w_b = (np.exp(np.where(seen, part, -np.inf) - np.where(seen, LSE, 0.0)) for part in (a, b))
    # Only the smaller part's weight comes from an exponential, and its error moves V between V_a and V_b.
    both = np.isfinite(a) & np.isfinite(b)
    of_exponential = rounding.exp_error(np.abs(np.where(both, a, 0.0) - np.where(both, b, 0.0)))
    smaller = np.minimum(w_a, w_b)
    of_logarithm = np.where(smaller > 0, smaller * of_exponential + 2.0**-21, 0.0)
    of_LSE = of_logarithm + UNIT * np.abs(np.where(seen, LSE, 0.0))
    left, right, moved = (_per_token(each) for each in (w_a, w_b, w_a * w_b * of_exponential))
    V_a, V_b = arrays["V_a"], arrays["V_b"]
    V = left * V_a + right * V_b
    of_V = moved * np.abs(V_a - V_b) + 6 * UNIT * (left * np.abs(V_a) + right * np.abs(V_b))
    expected = {
        "V_out": Expected(V, None if case.exact else rounding.bound(V, of_V, storage)),
        "LSE_out": Expected(LSE, None if case.exact else rounding.bound(LSE, of_LSE, storage)),
    }
    return {name: each for name, each in expected.items() if name not in case.null}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    chosen = sampling.rows(case.sizes["num_tokens"], rng, band=8)
    part = {name: array[chosen] if name.startswith("V") else array[:, chosen] for name, array in arrays.items()}
    expected = reference(part, case, precision)
    heads_by_size = case.sizes["num_heads"] * case.sizes["head_size"]
    heads = np.arange(case.sizes["num_heads"])[:, None]
    at = {"V_out": sampling.whole_rows(chosen, heads_by_size), "LSE_out": heads * case.sizes["num_tokens"] + chosen}
    return {name: each.at(at[name]) for name, each in expected.items()}


def _per_token(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [head, token] as [token, head, 1]."""
    return weights.T[:, :, None]


TASK = Task(
    name="merge_attn_states",
    category="LLM sequence",
    formula="V_out = (e^lse_a·V_a + e^lse_b·V_b)/(e^lse_a + e^lse_b), LSE_out = ln(e^lse_a + e^lse_b)",
    contract=CONTRACT,
    cases=(
        *cases("small", "one_side", exact=True, num_tokens=[1, 5, 33], num_heads=[1, 3], head_size=[1, 33, 64]),
        *cases("small", num_tokens=[1, 7, 16], num_heads=[1, 3], head_size=[2, 31, 128]),
        *cases("small", "normal", null=("LSE_out",), num_tokens=9, num_heads=2, head_size=[40, 257]),
        *cases("small", "far_apart", num_tokens=40, num_heads=3, head_size=17),
        *cases("small", "some_infinite", num_tokens=[3, 50], num_heads=4, head_size=32),
        *cases("paper", num_tokens=[512, 768, 1024], num_heads=[32, 64], head_size=[128, 256]),
        *cases("large", num_tokens=4096, num_heads=64, head_size=[128, 256]),
        *cases("hidden", "some_infinite", num_tokens=[13, 129], num_heads=5, head_size=[80, 193]),
        *cases("hidden", "one_side", exact=True, null=("LSE_out",), num_tokens=31, num_heads=7, head_size=96),
        *cases("hidden", "far_apart", num_tokens=3, num_heads=[1, 12], head_size=1030),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["num_tokens"] * s["num_heads"] * s["head_size"],
    min_flops=lambda s: 3 * s["num_tokens"] * s["num_heads"] * s["head_size"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="A block per token and head, whose threads all wait for the first, which computes two weights.",
    strategies=(
        "several tokens and heads per block",
        "every thread computes the weights itself",
        "128-bit loads and stores",
    ),
    notes="Infinite log-sum-exps are defined: weight 0; with both infinite V_out is 0 and LSE_out −infinity. The "
    "lower bounds are for data without them.",
)
