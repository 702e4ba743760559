"""Scores: the paper's weights in 64 bits, and failures that can't hide."""

from __future__ import annotations

import math

import pytest
from cudamaster.benchmark.scoring import efficiency, geometric_mean, score, tau_curve, weighted_speedup


def test_the_weighted_speedup_by_hand():
    assert weighted_speedup([1, 3], [2.0, 4.0]) == pytest.approx(3.5)


def test_the_largest_size_keeps_its_weight_beyond_32_bits():
    complexities = [5_497_558_138, 21_990_232_555, 2**62]
    assert weighted_speedup(complexities, [1.0, 1.0, 10.0]) == pytest.approx(10.0, rel=1e-6)
    assert weighted_speedup(complexities[:2], [1.0, 2.0]) == pytest.approx(1.8, rel=1e-6)


@pytest.mark.parametrize(("complexities", "speedups"), [([], []), ([1], [1.0, 2.0]), ([0, 1], [1.0, 1.0])])
def test_bad_weights_raise(complexities, speedups):
    with pytest.raises(ValueError):
        weighted_speedup(complexities, speedups)


def test_the_geometric_mean():
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    for bad in ([], [1.0, 0.0], [-1.0]):
        with pytest.raises(ValueError):
            geometric_mean(bad)


def test_a_failure_is_below_every_threshold():
    assert tau_curve([None, 1.0, 3.0, None], [0.0, 1.0, 2.0, 4.0]) == (0.5, 0.5, 0.25, 0.0)


def test_failures_stay_in_the_score():
    found = score([None, 4.0, 1.0, 0.5])
    assert (found.units, found.solved) == (4, 3)
    assert found.geomean_solved == pytest.approx(math.cbrt(2.0))
    assert found.geomean_all == pytest.approx(2.0**0.25)
    assert found.faster == 0.25


def test_all_failed():
    found = score([None, None])
    assert (found.solved, found.geomean_solved, found.geomean_all, found.faster) == (0, None, 1.0, 0.0)
    with pytest.raises(ValueError):
        score([])


def test_efficiency():
    assert efficiency(2.0, 4.0) == 0.5
