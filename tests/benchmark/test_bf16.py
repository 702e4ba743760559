"""bfloat16: every pattern goes there and back; rounding is to nearest, ties to even, in one step."""

from __future__ import annotations

import numpy as np
from cudamaster.benchmark.bf16 import from_bf16, to_bf16

ALL = np.arange(2**16, dtype=np.uint32).astype(np.uint16)


def finite() -> np.ndarray:
    return ALL[np.isfinite(from_bf16(ALL))]


def test_every_pattern_survives_the_round_trip():
    patterns = ALL[~np.isnan(from_bf16(ALL))]
    np.testing.assert_array_equal(to_bf16(from_bf16(patterns)), patterns)
    np.testing.assert_array_equal(to_bf16(from_bf16(patterns).astype(np.float64)), patterns)


def test_every_nan_becomes_the_gpu_nan():
    assert set(to_bf16(np.array([np.nan, -np.nan], np.float32))) == {0x7FFF}


def test_midpoints_go_to_the_even_neighbour():
    low = np.arange(0x0001, 0x7F7F, dtype=np.uint16)
    middle = (from_bf16(low).astype(np.float64) + from_bf16(low + 1)) / 2
    np.testing.assert_array_equal(to_bf16(middle) % 2, 0)


def test_a_hair_off_the_midpoint_goes_to_the_nearer_neighbour_even_where_float32_would_see_a_tie():
    low = np.arange(0x0100, 0x7F7F, dtype=np.uint16)
    middle = (from_bf16(low).astype(np.float64) + from_bf16(low + 1)) / 2
    np.testing.assert_array_equal(to_bf16(middle * (1 + 2.0**-40)), low + 1)
    np.testing.assert_array_equal(to_bf16(middle * (1 - 2.0**-40)), low)


def test_overflow_is_infinite_and_the_largest_stays():
    largest = float(from_bf16(np.array([0x7F7F], np.uint16))[0])
    assert to_bf16(np.array([largest]))[0] == 0x7F7F
    assert to_bf16(np.array([largest * (1 + 2.0**-8)]))[0] == 0x7F80
    assert to_bf16(np.array([-1e300]))[0] == 0xFF80


def test_nearest_by_brute_force():
    values = np.random.default_rng(0).standard_normal(2000) * np.exp2(np.random.default_rng(1).uniform(-130, 120, 2000))
    table = from_bf16(finite()).astype(np.float64)
    table = np.unique(table)
    index = np.clip(np.searchsorted(table, values), 1, len(table) - 1)
    nearest = np.minimum(np.abs(values - table[index - 1]), np.abs(values - table[index]))
    np.testing.assert_array_equal(np.abs(from_bf16(to_bf16(values)).astype(np.float64) - values), nearest)
