"""Intervals that hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.tools.device.cuda.intervals import mean_interval, median_interval, ratio_interval, trimmed_mean


def processes(center: float, seed: int, count: int = 5, spread: float = 0.01) -> list[float]:
    return list(np.log(center) + spread * np.random.default_rng(seed).normal(size=count))


def test_equal_sides_cover_one_as_often_as_they_should() -> None:
    found = [ratio_interval([processes(100, seed)], [processes(100, 10_000 + seed)]) for seed in range(400)]
    assert 0.92 <= np.mean([f.low <= 1 <= f.high for f in found]) <= 0.99


def test_a_true_ratio_is_found() -> None:
    found = ratio_interval([processes(200, 1)], [processes(100, 2)])
    assert found.low <= 2 <= found.high
    assert found.high / found.low < 1.06


def test_scatter_between_processes_widens_the_interval() -> None:
    wide = ratio_interval([processes(100, 1, spread=0.03)], [processes(100, 2, spread=0.03)])
    narrow = ratio_interval([processes(100, 1)], [processes(100, 2)])
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_the_clock_sets_the_least_width() -> None:
    found = ratio_interval([[0.0, 0.0]], [[0.0, 0.0]], resolution=0.01)
    assert found.high == pytest.approx(1.01, abs=1e-3)
    assert ratio_interval([[0.0]], [[0.0]]).high == 1.0


def test_sides_of_unequal_scatter_use_the_worse() -> None:
    found = ratio_interval([[0.0, 0.0, 0.0]], [[0.0, 0.1, -0.1]])
    assert found.high == pytest.approx(np.exp(4.303 * 0.1 / np.sqrt(3)), rel=1e-3)


def test_a_mixture_of_two_values_has_a_steady_middle() -> None:
    assert trimmed_mean([6.0, 7.0] * 20 + [50.0]) == pytest.approx(6.5, abs=0.05)
    assert trimmed_mean([3.0]) == 3.0


def test_intervals_of_one_side() -> None:
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.value, round(found.high - found.value, 3)) == (2.0, round(4.303 / np.sqrt(3), 3))
    assert mean_interval([2.0]).high == 2.0
    median = median_interval([1.0, 2.0, 9.0], np.random.default_rng(0))
    assert median.low <= median.value == 2.0 <= median.high
