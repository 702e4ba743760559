"""Element by element: bounds, exactness, NaN and infinities, and the sentence about the worst."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.benchmark.contract import DType, Precision, array_out
from cudamaster.benchmark.storage import to_storage
from cudamaster.benchmark.task import Expected
from cudamaster.tools.judge.compare import compare

OUT = array_out("y", "M", "N")
SIZES = {"M": 2, "N": 3}
VALUE = np.arange(1.0, 7.0).reshape(2, 3)


def found(got, value=VALUE, bound=0.5, precision=Precision.FP32, argument=OUT, poison=0xFF, positions=None):
    dtype = argument.dtype.resolve(precision)
    limits = None if bound is None else np.full(np.shape(value), bound)
    return compare(
        to_storage(np.asarray(got, float), dtype),
        Expected(value, limits, positions),
        argument,
        precision,
        SIZES,
        poison,
    )


def changed(index, value):
    array = VALUE.copy()
    array[index] = value
    return array


def test_the_bound_itself_is_legal_and_anything_beyond_is_not():
    assert found(changed((1, 2), 6.5)).ok
    assert found(changed((1, 2), 6.5)).worst_ratio == 1.0
    beyond = found(changed((1, 2), 6.5001))
    assert not beyond.ok
    assert beyond.bad_elements == 1
    assert "y[1, 2] is 6.5" in beyond.reason
    assert "should be 6 ± 0.5" in beyond.reason


def test_the_worst_element_is_the_one_that_is_shown():
    got = changed((0, 1), 9.0)
    got[1, 1] = 7.0
    reason = found(got).reason
    assert reason.startswith("y[0, 1] is 9")
    assert "2 of 6 elements are wrong, from y[0, 1] to y[1, 1]" in reason


def test_without_a_bound_every_bit_counts_but_the_sign_of_zero():
    assert found(VALUE, bound=None).ok
    assert found([[-0.0, 1]], value=np.array([[0.0, 1.0]]), bound=None).ok
    off = found(changed((0, 0), np.nextafter(np.float32(1), np.float32(2))), bound=None)
    assert not off.ok
    assert "exactly" in off.reason


def test_an_exact_value_is_rounded_once_to_the_output():
    assert found(np.full((2, 3), 257.0), value=np.full((2, 3), 257.0), bound=None, precision=Precision.BF16).ok
    assert not found(np.full((2, 3), 258.0), value=np.full((2, 3), 257.0), bound=None, precision=Precision.BF16).ok


@pytest.mark.parametrize("bound", [None, 0.5])
@pytest.mark.parametrize(
    ("value", "got", "ok"),
    [
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.inf, 3e38, False),
        (3.0, np.inf, False),
        (-np.inf, np.nan, False),
    ],
)
def test_what_is_not_finite_must_be_in_its_place(bound, value, got, ok):
    result = found(changed((0, 0), got), value=changed((0, 0), value), bound=bound)
    assert result.ok is ok
    assert np.isfinite(result.worst_ratio)


def test_at_the_edge_of_the_range_infinity_is_a_legal_rounding():
    edge = float(np.finfo(np.float32).max)
    assert found(changed((0, 0), np.inf), value=changed((0, 0), edge), bound=1e32).ok
    assert not found(changed((0, 0), -np.inf), value=changed((0, 0), edge), bound=1e32).ok
    assert not found(changed((0, 0), np.inf), value=changed((0, 0), edge / 2), bound=1e32).ok


def test_a_bound_of_zero_means_equal():
    assert found(VALUE, bound=0.0).ok
    assert not found(changed((0, 0), 1.0000001), bound=0.0).ok


def test_whole_numbers():
    indices = array_out("i", "M", "N", dtype=DType.I32)
    assert compare(VALUE.astype(np.int32), Expected(VALUE.astype(np.int64)), indices, Precision.BF16, SIZES, 0xFF).ok
    off = compare(
        changed((1, 0), 7).astype(np.int32), Expected(VALUE.astype(np.int64)), indices, Precision.BF16, SIZES, 0xFF
    )
    assert not off.ok
    assert off.reason.startswith("i[1, 0] is 7, should be 4 exactly")


def test_unwritten_elements_and_zeros_are_told_apart():
    poisoned = to_storage(VALUE, DType.F32)
    poisoned[1].view(np.uint32)[...] = 0xFFFFFFFF
    result = compare(poisoned, Expected(VALUE, np.full((2, 3), 0.5)), OUT, Precision.FP32, SIZES, 0xFF)
    assert "3 of the wrong elements were never written" in result.reason
    assert "(the tail)" in result.reason
    zero = found(np.where(VALUE > 3, 0.0, VALUE))
    assert "all wrong elements are 0" in zero.reason


def test_regular_damage_is_named():
    sizes = {"M": 1, "N": 12}
    value = np.arange(1.0, 13.0).reshape(1, 12)
    got = value.copy()
    got[0, ::4] = 0
    result = compare(got.astype(np.float32), Expected(value, np.full((1, 12), 0.1)), OUT, Precision.FP32, sizes, 0xFF)
    assert "(every 4th)" in result.reason


def test_a_sample_names_its_places_in_the_whole():
    result = found([1.0, 9.0], value=np.array([1.0, 5.0]), positions=np.array([0, 4]))
    assert result.reason.startswith("y[1, 1] is 9, should be 5")
    assert "1 of 2 sampled elements is wrong" in result.reason
