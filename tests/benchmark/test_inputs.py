"""Input data: each distribution is what its name says, and the exact ones are exact."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cudamaster.benchmark import inputs
from cudamaster.benchmark.contract import DType, Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.storage import from_storage, to_storage
from cudamaster.benchmark.task import CaseSet


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", sorted(inputs._PLAIN))
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 4)])
def test_every_distribution_has_the_shape_asked_for(name, shape, rng):
    assert inputs.values(name, shape, rng).shape == shape


def test_an_unknown_distribution_is_named_with_the_known_ones(rng):
    with pytest.raises(ValueError, match=r"'normel'.*normal"):
        inputs.values("normel", (3,), rng)


@pytest.mark.parametrize("terms", [1, 1000, 2**20, 2**24])
def test_sums_of_integers_are_exact_in_any_order(terms, rng):
    x, y = inputs.factors("integers", (4096,), (4096,), rng, terms)
    assert np.all(x != 0)
    assert np.max(np.abs(x)) * np.max(np.abs(y)) * terms <= 2**24


def test_a_sum_too_long_to_be_exact_is_refused(rng):
    for name, terms in (("integers", 2**24 + 1), ("powers_of_two", 2**20 + 1)):
        with pytest.raises(ValueError, match="not exact"):
            inputs.values(name, (3,), rng, terms)


@pytest.mark.parametrize("name", ["integers", "powers_of_two", "one_hot"])
def test_exact_data_are_representable_in_bfloat16(name, rng):
    left, _ = inputs.factors(name, (50, 8), (8, 3), rng, 8)
    np.testing.assert_array_equal(from_storage(to_storage(left, DType.BF16), DType.BF16), left)


def test_one_hot_has_one_1_per_line_and_reaches_the_last_place(rng):
    hot = inputs.one_hot((400, 30), rng)
    np.testing.assert_array_equal(hot.sum(axis=1), 1)
    assert np.all((hot == 0) | (hot == 1))
    assert 60 < hot[:, -1].sum() < 180


def test_sixteen_bits_survive_two_parts_of_tf32_but_not_one(rng):
    values = inputs.sixteen_bits((1000,), rng)

    def cut(array):
        mantissa, exponent = np.frexp(array)
        return np.ldexp(np.round(np.ldexp(mantissa, 11)), exponent - 11)

    assert np.mean(cut(values) == values) < 0.1
    np.testing.assert_array_equal(cut(values) + cut(values - cut(values)), values)


def test_cancellation_cancels_in_pairs(rng):
    values = inputs.cancellation((1001,), rng)
    assert np.max(np.abs(values[:1000].reshape(-1, 2).sum(axis=1))) < 2.0
    assert np.min(np.abs(values)) > 60


def test_special_has_every_special_value(rng):
    values = inputs.special((50,), rng)
    assert np.isnan(values).sum() == 1
    assert (values == np.inf).sum() == 1
    assert np.signbit(values[values == 0]).tolist().count(True) == 1


def test_masked_leaves_one_finite_value_in_each_line(rng):
    values = inputs.masked((200, 3), rng)
    assert np.all(np.isfinite(values).any(axis=1))
    assert 0.3 < np.isneginf(values).mean() < 0.5
    assert np.isfinite(inputs.masked((9, 1), rng)).all()


@pytest.mark.parametrize("pattern", ["even", "power_law", "empty_rows", "banded"])
@pytest.mark.parametrize(("rows", "cols", "entries"), [(1, 1, 5), (2, 3, 1), (100, 40, 1000)])
def test_sparse_patterns_are_well_formed(pattern, rows, cols, entries, rng):
    offsets, columns = inputs.csr(pattern, rows, cols, entries, rng)
    assert offsets[0] == 0
    assert offsets[-1] == len(columns) == entries
    assert np.all(np.diff(offsets) >= 0)
    assert columns.min() >= 0
    assert columns.max() < cols


def test_sparse_patterns_are_what_they_say(rng):
    lengths = {p: inputs.row_lengths(p, 1000, 10_000, rng) for p in ("even", "power_law", "empty_rows")}
    assert set(lengths["even"]) == {10}
    assert lengths["power_law"].max() > 1000
    assert (lengths["power_law"] < 3).sum() > 200
    assert np.all(lengths["empty_rows"][1::2] == 0)
    assert lengths["empty_rows"][-1] == 0


def test_a_generator_that_breaks_its_contract_is_found():
    task = load_task("gelu")
    case = task.in_set(CaseSet.SMALL)[0]
    for broken in (lambda *_: {"x": np.zeros(case.sizes["N"])}, lambda *_: {"in": np.zeros(case.sizes["N"] + 1)}):
        with pytest.raises(ValueError, match="gelu"):
            inputs.draw(dataclasses.replace(task, generate=broken), case, Precision.FP32, 0)
