"""The reference's two ways to the same sums: the power series of the exponential, and the definition."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.inputs import draw
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.tasks.triangle_attention import task as module


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("reach", [0.0, 0.1, 1.5])
def test_the_series_is_the_definition_to_double_precision(masked, reach):
    rng = np.random.default_rng(5)
    q, k, v = rng.uniform(-1, 1, (3, 2, 3, 40, 5))
    q *= reach
    allowed = np.broadcast_to(np.tri(40, dtype=bool), (2, 40, 40)).copy()
    if masked:
        allowed &= rng.random(allowed.shape) < 0.5
        allowed[1, 7] = False
    series, definition = (way(q, k, v, allowed, reach) for way in (module._by_series, module._directly))
    np.testing.assert_allclose(series, definition, rtol=0, atol=1e-14)
    assert np.any(definition != 0)


def test_some_rows_of_the_random_masks_have_no_key_left_and_give_zero():
    task = load_task("triangle_attention")
    case = next(c for c in task.cases if c.distribution == "random_mask" and c.sizes["seq"] == 50)
    arrays = draw(task, case, Precision.FP32, 0)
    empty = ~np.any((arrays["attention_mask"] <= 0.5) & np.tri(50, dtype=bool), axis=2)
    assert np.any(empty)
    output = task.reference(arrays, case, Precision.FP32)["output"]
    assert np.all(np.swapaxes(output.value, 1, 2)[empty] == 0)


def test_exact_masks_leave_a_power_of_two_of_the_keys():
    mask = module._power_of_two_left((3, 65, 65), np.random.default_rng(1))
    left = np.sum((mask == 0) & np.tri(65, dtype=bool), axis=2)
    assert set(np.unique(left)) <= {1, 2, 4, 8, 16, 32, 64}
    assert left.max() >= 32
