"""The error bounds: sound for any order of summation, and no wider than they say."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.benchmark import rounding
from cudamaster.benchmark.bf16 import from_bf16, to_bf16
from cudamaster.benchmark.contract import DType


def test_half_spacing_is_the_largest_rounding_error():
    values = np.random.default_rng(0).standard_normal(20_000) * np.exp2(np.arange(20_000) % 200 - 100.0)
    for dtype, rounded in ((DType.F32, values.astype(np.float32)), (DType.BF16, from_bf16(to_bf16(values)))):
        error = np.abs(rounded.astype(np.float64) - values) / rounding.half_spacing(values, dtype)
        assert 0.99 < error.max() <= 1.0


def test_half_spacing_of_whole_numbers_and_of_what_is_not_finite_is_zero():
    assert rounding.half_spacing(np.array([5.0]), DType.I32) == 0
    np.testing.assert_array_equal(rounding.half_spacing(np.array([np.inf, -np.inf, np.nan]), DType.F32), 0)


def test_growth_is_linear_for_short_sums_and_a_square_root_for_long_ones():
    assert rounding.growth(5) == 5 * rounding.UNIT
    assert rounding.growth(2**20) == 4 * 2**10 * rounding.UNIT


@pytest.mark.parametrize("n", [2**10, 2**16, 2**20])
def test_a_sequential_float_sum_of_positive_terms_is_accepted_with_half_of_the_bound_to_spare(n):
    worst = 0.0
    for seed in range(10):
        terms = np.random.default_rng(seed).uniform(0, 1, n).astype(np.float32)
        exact = np.sum(terms.astype(np.float64))
        error = abs(float(np.cumsum(terms, dtype=np.float32)[-1]) - exact)
        worst = max(worst, error / float(rounding.bound(exact, rounding.sum_error(exact, n), DType.F32)))
    assert 0 < worst <= 0.5


def test_mixed_signs_tighten_the_bound_only_for_independent_terms():
    terms = np.random.default_rng(0).uniform(-1, 1, 2**16)
    total, absolute, squares = np.sum(terms), np.sum(np.abs(terms)), np.sum(terms**2)
    loose = rounding.partial_sums(total, absolute, squares, exchangeable=False)
    tight = rounding.partial_sums(total, absolute, squares, exchangeable=True)
    assert loose == absolute
    assert np.max(np.abs(np.cumsum(terms))) < tight < absolute / 20


def test_a_value_that_is_not_finite_has_no_infinite_bound():
    assert np.all(
        np.isfinite(rounding.bound(np.array([np.inf, np.nan, 1.0]), np.array([np.inf, np.nan, 1e-9]), DType.F32))
    )
