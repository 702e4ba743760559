"""The bound never rejects a right answer: computed in float64 and rounded once, at any shape and on any data."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.benchmark.margins import ratio
from cudamaster.tests.benchmark.mutations import right
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("name", task_names())
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_rounded_float64_answer_is_never_rejected(name, data):
    task = load_task(name)
    template = data.draw(st.sampled_from(task.in_set(CaseSet.SMALL, CaseSet.HIDDEN)), label="template")
    longest = 40 if len(template.sizes) <= 3 else 10
    sizes = {size: data.draw(st.integers(1, longest), label=size) for size in template.sizes}
    case = template.model_copy(update={"sizes": sizes})
    if not task.legal(case):
        case = min(task.in_set(CaseSet.SMALL), key=lambda c: task.complexity(c.sizes))
    precision = data.draw(st.sampled_from(list(Precision)), label="precision")
    r = right(task, case, precision, data.draw(st.integers(0, 2**48 - 1), label="seed"))
    assert np.isfinite(value := ratio(r, r.outputs))
    assert value <= 0.5
