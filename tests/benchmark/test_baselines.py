"""The frozen baselines: a change to one voids every result that was measured against it."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.baselines import baseline_sha256, frozen_baselines
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import task_names


@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize("precision", Precision)
def test_the_baseline_is_the_frozen_one(name, precision):
    unit = f"{name}-{precision}"
    assert frozen_baselines().get(unit) == baseline_sha256(name, precision), (
        f"the baseline of {unit} is not the frozen one. A new task: freeze it (cudamaster.benchmark.baselines.freeze). "
        "A changed baseline voids all results measured against it: say so in the changelog, and remove the old hash"
    )


def test_nothing_is_frozen_that_is_gone():
    assert {unit.rpartition("-")[0] for unit in frozen_baselines()} == set(task_names())
