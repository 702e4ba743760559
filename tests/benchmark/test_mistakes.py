"""The natural mistakes of each task are found at its small cases, without a compiler."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tests.benchmark.margins import many_seeds, ratio, small_cases
from cudamaster.tests.benchmark.mutations import right

NAMES = sorted(p.stem for p in (Path(__file__).parent / "mistakes").glob("*.py"))
UNITS = [pytest.param(name, precision, id=f"{name}-{precision}") for name in NAMES for precision in Precision]


def mistakes_of(name, precision):
    module = importlib.import_module(f"cudamaster.tests.benchmark.mistakes.{name}")
    return module.MISTAKES | (getattr(module, "ONLY_FP32", {}) if precision is Precision.FP32 else {})


def accepted(name, precision, seed):
    """Return the mistakes that no small case rejects."""
    task, left = load_task(name), mistakes_of(name, precision)
    for case in small_cases(task):
        if left:
            r = right(task, case, precision, seed)
            left = {label: compute for label, compute in left.items() if not is_rejected(r, compute)}
    return sorted(left)


def is_rejected(r, compute):
    with np.errstate(all="ignore"):
        outputs = {name: np.asarray(array) for name, array in compute(r.inputs, r.case, r.precision).items()}
    return ratio(r, outputs) > 1


@pytest.mark.parametrize(("name", "precision"), UNITS)
def test_natural_mistakes_are_rejected(name, precision):
    assert len(mistakes_of(name, precision)) >= 4
    assert accepted(name, precision, 0) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "precision"), UNITS)
def test_natural_mistakes_are_rejected_whatever_the_seed(name, precision):
    assert {seed: left for seed in many_seeds(name)[1:] if (left := accepted(name, precision, seed))} == {}
