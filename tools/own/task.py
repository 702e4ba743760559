"""A task of the user's own, from a contract and some sizes: what a generated task.py calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...benchmark.contract import Contract, DType, Precision, Role, evaluate
from ...benchmark.inputs import values
from ...benchmark.storage import from_storage, to_storage
from ...benchmark.task import Arrays, Case, CaseSet, Drawn, Outputs, Task
from .bounds import bounded
from .original import original

if TYPE_CHECKING:
    import numpy as np

Sizes = Sequence[Mapping[str, int]]


def own_task(
    file: str,
    contract: Contract,
    *,
    small: Sizes,
    timed: Sizes,
    hidden: Sizes = (),
    complexity: str,
    scalars: Mapping[str, float] | None = None,
    data: Mapping[str, str] | None = None,
    below: Mapping[str, str] | None = None,
    multiple_of: int = 1,
    legal: Callable[[Mapping[str, int]], bool] | None = None,
    reference: Callable[..., Any] | None = None,
    formula: str = "",
) -> Task:
    """Return the task that a folder with `task.py`, `fp32.cu` and `bf16.cu` (or one of them) holds.

    Args:
        file: `__file__` of task.py.
        contract: the C interface; its entry is defined in the `.cu` files.
        small: sizes at which every candidate is checked, odd ones among them.
        timed: sizes at which it is timed and scored.
        hidden: sizes that no model is told.
        complexity: operations of the naive kernel, an expression in the sizes; decides what a CPU can afford.
        scalars: a value for each scalar.
        data: a distribution of `benchmark.inputs` for an array, e.g. `positive`; else `uniform` in [-1, 1).
        multiple_of: every size of a call is a multiple of this.
        legal: which sizes a kernel must handle; the judge also tries some that are in no list. None: all.
        below: for arrays of indices, an expression in the sizes that they stay below.
        reference: Python function of the arrays (float64), sizes and scalars by name, in the contract's order. It
            returns the outputs in the contract's order: one array, or a tuple of them. None: the original kernel is
            what a candidate is compared with, with a bound twice as wide, and every result says so.
        formula: one line of mathematics, for the model.
    """
    folder = Path(file).resolve().parent
    drawn_from, limits = dict(data or {}), dict(below or {})
    terms: dict[tuple[str, Precision], dict[str, float]] = {}
    """How many inputs an output depends on, by case: the same whatever the data."""

    def generate(case: Case, precision: Precision, rng: np.random.Generator) -> Drawn:
        drawn: Drawn = {}
        for a in contract.inputs:
            shape = a.extents(case.sizes)
            if a.dtype is DType.I32:
                most = evaluate(limits[a.name], case.sizes) if a.name in limits else 100
                drawn[a.name] = rng.integers(0, max(most, 1), shape)
            else:
                drawn[a.name] = values(drawn_from.get(a.name, case.distribution), shape, rng)
        return drawn

    def expected(arrays: Arrays, case: Case, precision: Precision) -> Outputs:
        types = {a.name: a.dtype.resolve(precision) for a in contract.inputs}

        def rounded(changed: Arrays) -> Drawn:
            return {name: from_storage(to_storage(array, types[name]), types[name]) for name, array in changed.items()}

        known_terms = terms.setdefault((case.name, precision), {})
        if reference is None:
            with original(task, case, precision) as run:
                return bounded(
                    lambda changed: run(rounded(changed)), arrays, contract, precision, widen=2.0, terms=known_terms
                )
        known = {**case.sizes, **case.scalars}
        return bounded(
            lambda changed: _answers(reference, contract, {**known, **rounded(changed)}), arrays, contract, precision,
            widen=1.0, terms=known_terms,
        )  # fmt: skip

    def min_bytes(sizes: Mapping[str, int], precision: Precision) -> int:
        # What must be written is certain; that every input must be read is not known of a foreign kernel.
        return sum(contract.bytes_of(a, precision, sizes) for a in contract.outputs if a.role is Role.OUT)

    def handled(case: Case) -> bool:
        whole = all(size % multiple_of == 0 for size in case.sizes.values())
        return whole and (legal is None or legal(case.sizes))

    sets = {CaseSet.SMALL: small, CaseSet.PAPER: timed, CaseSet.HIDDEN: hidden}
    task = Task(
        name=folder.name,
        category="own",
        formula=formula or f"what {contract.entry} computes",
        contract=contract,
        cases=tuple(
            Case(set=kind, sizes=dict(sizes), scalars=dict(scalars or {}))
            for kind, listed in sets.items()
            for sizes in listed
        ),
        generate=generate,
        reference=expected,
        complexity=lambda sizes: max(1, evaluate(complexity, sizes)),
        min_flops=lambda sizes: 0,
        min_bytes=min_bytes,
        waste="",
        legal=handled,
        differential=reference is None,
        folder=folder,
    )
    return task


def _answers(reference: Callable[..., Any], contract: Contract, known: Mapping[str, Any]) -> Drawn:
    """Call the user's reference and return its answers by the outputs' names, in their shapes."""
    import numpy as np

    wanted = [a for a in contract.arguments if a.role is not Role.OUT]
    answer = reference(*(known[a.name] for a in wanted))
    answers = answer if isinstance(answer, tuple) else (answer,)
    if len(answers) != len(contract.outputs):
        raise RuntimeError(
            f"the reference returned {len(answers)} arrays, the contract has {len(contract.outputs)} outputs"
        )
    sizes = {a.name: known[a.name] for a in contract.sizes}
    found: Drawn = {}
    for argument, value in zip(contract.outputs, answers, strict=True):
        array = np.asarray(value, dtype=np.int64 if argument.dtype is DType.I32 else np.float64)
        if array.size != argument.elements(sizes):
            raise RuntimeError(
                f"the reference returned {array.size} elements for {argument.name}, wanted {argument.elements(sizes)}"
            )
        found[argument.name] = array.reshape(argument.extents(sizes))
    return found
