"""How far honest results stay inside the bounds, and how far wrong ones are outside: the numbers behind the judge.

`python -m cudamaster.tests.benchmark.margins SEEDS [TASK…]` prints the table of docs/results/error_margins.md.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.storage import to_storage
from cudamaster.benchmark.task import Case, CaseSet, Task
from cudamaster.tools.judge.compare import compare

from .mutations import MUTANTS, Numbers, Right, right

EXACT = 1e9
"""What `compare` calls a broken exact comparison, or a NaN out of place."""


def variants(name: str):
    """Return the honest variants of a task by name; a task without any has the float64 reference only."""
    try:
        return importlib.import_module(f"cudamaster.tests.benchmark.honest.{name}").VARIANTS
    except ModuleNotFoundError:
        return {}


def small_cases(task: Task) -> tuple[Case, ...]:
    """Return the cases that are quick to try in numpy."""
    return tuple(c for c in task.in_set(CaseSet.SMALL) if task.complexity(c.sizes) <= 300_000)


def ratio(r: Right, outputs: Numbers) -> float:
    """Return the largest |error| ÷ bound of outputs (rounded to the storage type here); NaN or inexact: EXACT."""
    worst = 0.0
    for argument in r.task.contract.outputs:
        if argument.name in r.expected:
            memory = to_storage(outputs[argument.name], argument.dtype.resolve(r.precision))
            worst = max(
                worst, compare(memory, r.expected[argument.name], argument, r.precision, r.case.sizes, 0xFF).worst_ratio
            )
    return worst


def honest_ratios(task: Task, precision: Precision, seeds: range) -> Iterator[tuple[str, Case, int, float]]:
    """Yield variant, case, seed and ratio of every honest variant."""
    for case in small_cases(task):
        for seed in seeds:
            r = right(task, case, precision, seed)
            yield "float64", case, seed, ratio(r, r.outputs)
            for name, compute in variants(task.name).items():
                with np.errstate(all="ignore"):
                    outputs = compute(r.inputs, case, precision)
                yield name, case, seed, ratio(r, outputs)


def changes(r: Right, outputs: Numbers) -> bool:
    """Return True if these outputs differ from the right ones in memory: a mutant that changes nothing is none."""
    return any(
        to_storage(outputs[name], r.dtype(name)).tobytes() != to_storage(array, r.dtype(name)).tobytes()
        for name, array in r.outputs.items()
    )


def mutant_effects(task: Task, precision: Precision, seed: int, enough: float = np.inf) -> dict[str, float]:
    """Return the largest ratio that each mutant reaches at any small case; mutants that change nothing are left out.

    A mutant that has reached more than `enough` is not tried at further cases.
    """
    effects: dict[str, float] = {}
    for case in small_cases(task):
        r = right(task, case, precision, seed)
        for name, mutant in MUTANTS.items():
            if effects.get(name, 0.0) > enough:
                continue
            with np.errstate(all="ignore"):
                outputs = mutant(r)
            if changes(r, outputs):
                effects[name] = max(effects.get(name, 0.0), ratio(r, outputs))
    return effects


def table(seeds: int, names: Sequence[str]) -> str:
    """Return the table as Markdown."""
    lines = [
        f"Over {seeds} seeds at the small cases. 1 is the bound; in an exact case every difference counts.",
        "",
        "| unit | honest variants | largest honest error | at | mutants rejected | weakest mutant | its effect |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in names:
        for precision in Precision:
            task = load_task(name)
            honest = max(honest_ratios(task, precision, range(seeds)), key=lambda found: found[3])
            caught: dict[str, float] = {}
            for seed in range(seeds):
                for mutant, effect in mutant_effects(task, precision, seed).items():
                    caught[mutant] = min(caught.get(mutant, np.inf), effect)
            weakest = min(caught, key=lambda mutant: caught[mutant])
            shown = "exact case" if caught[weakest] >= EXACT else f"{caught[weakest]:.3g}"
            rejected = sum(value > 1 for value in caught.values())
            lines.append(
                f"| {name} {precision} | {len(variants(name)) + 1} | {honest[3]:.2f} | {honest[0]}, {honest[1].name} "
                f"| {rejected} of {len(caught)} | {weakest} | {shown} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(int(sys.argv[1]), sys.argv[2:] or task_names()))
