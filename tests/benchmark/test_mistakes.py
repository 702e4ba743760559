"""The natural mistakes of each task are found at its small cases, without a compiler."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tests.benchmark.margins import ratio, small_cases
from cudamaster.tests.benchmark.mutations import right

NAMES = sorted(p.stem for p in (Path(__file__).parent / "mistakes").glob("*.py"))


def mistakes():
    for name in NAMES:
        module = importlib.import_module(f"cudamaster.tests.benchmark.mistakes.{name}")
        for precision in Precision:
            found = module.MISTAKES | (getattr(module, "ONLY_FP32", {}) if precision is Precision.FP32 else {})
            for label, compute in found.items():
                yield pytest.param(load_task(name), precision, compute, id=f"{name}-{precision}-{label}")


each = pytest.mark.parametrize(("task", "precision", "compute"), list(mistakes()))


@each
def test_a_natural_mistake_is_rejected(task, precision, compute):
    assert any(is_rejected(right(task, case, precision, 0), compute) for case in small_cases(task))


@pytest.mark.slow
@each
def test_a_natural_mistake_is_rejected_whatever_the_seed(task, precision, compute):
    for seed in range(1, 50):
        assert any(is_rejected(right(task, case, precision, seed), compute) for case in small_cases(task)), (
            f"seed {seed}"
        )


def is_rejected(r, compute):
    with np.errstate(all="ignore"):
        outputs = {name: np.asarray(array) for name, array in compute(r.inputs, r.case, r.precision).items()}
    return ratio(r, outputs) > 1
