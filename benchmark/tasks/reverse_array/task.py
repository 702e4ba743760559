"""A vector from back to front."""

from __future__ import annotations

from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="reverse_array",
    arguments=(array_out("out", "N"), array_in("in", "N"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {"in": inputs.values(case.distribution, (case.sizes["N"],), rng)}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    return {"out": Expected(arrays["in"][::-1])}


def sample(arrays: Arrays, case: Case, precision: Precision, rng: Generator) -> Outputs:
    chosen = sampling.positions(case.sizes["N"], rng)
    return {"out": Expected(arrays["in"][case.sizes["N"] - 1 - chosen]).at(chosen)}


TASK = Task(
    name="reverse_array",
    category="vector",
    formula="out[i] = in[N − 1 − i]",
    contract=CONTRACT,
    cases=(
        *cases("small", exact=True, N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", exact=True, N=[5, 40_001]),
        *cases("small", "special", exact=True, N=[9, 257]),
        *cases("paper", exact=True, N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", exact=True, N=[2**24, 2**27]),
        *cases("hidden", "normal", exact=True, N=[7, 2**16 + 1, 99_991, 1_000_003]),
    ),
    generate=generate,
    reference=reference,
    sample=sample,
    complexity=lambda s: s["N"],
    min_flops=lambda s: 0,
    min_bytes=compulsory_bytes(CONTRACT),
    waste="Every thread moves two single elements: far more instructions than the bytes need.",
    strategies=("128-bit loads and stores with the order turned in registers", "several vectors per thread"),
    notes="Data movement: every case is exact.",
)
