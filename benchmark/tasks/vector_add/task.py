"""Sum of two vectors."""

from __future__ import annotations

from numpy.random import Generator

from ... import inputs, sampling
from ...cases import cases
from ...contract import Contract, Precision, array_in, array_out, size
from ...task import Arrays, Case, Drawn, Expected, Outputs, Task
from ...work import compulsory_bytes

CONTRACT = Contract(
    entry="vector_add",
    arguments=(array_in("A", "N"), array_in("B", "N"), array_out("C", "N"), size("N")),
)


def generate(case: Case, precision: Precision, rng: Generator) -> Drawn:
    return {name: inputs.values(case.distribution, (case.sizes["N"],), rng) for name in "AB"}


def reference(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
    # Float64 holds more than twice the bits of either storage type: rounding its sum is rounding the sum.
    return {"C": Expected(arrays["A"] + arrays["B"])}


TASK = Task(
    name="vector_add",
    category="vector",
    formula="C[i] = A[i] + B[i]",
    contract=CONTRACT,
    cases=(
        *cases("small", "integers", exact=True, N=[1, 33, 1025]),
        *cases("small", N=[1, 2, 3, 31, 33, 1000, 1023, 1024, 1025, 4099]),
        *cases("small", "normal", N=[5, 40_001]),
        *cases("small", "wide_range", N=1009),
        *cases("small", "special", N=[9, 257]),
        *cases("paper", N=[2**10, 2**12, 2**14, 2**16, 2**18]),
        *cases("large", N=[2**24, 2**26]),
        *cases("hidden", "large_mean", N=[7, 2**16 + 1, 99_991]),
        *cases("hidden", "special", N=1_000_003),
    ),
    generate=generate,
    reference=reference,
    sample=sampling.elementwise(reference),
    complexity=lambda s: s["N"],
    min_flops=lambda s: s["N"],
    min_bytes=compulsory_bytes(CONTRACT),
    waste="One block of 1024 threads does everything, so that one multiprocessor works and the others idle.",
    strategies=("a grid that fills the GPU", "128-bit loads and stores", "packed bf16 pairs"),
    notes="One rounding per element, so that every case is compared bit for bit; in bf16 a sum through float comes "
    "to the same.",
)
