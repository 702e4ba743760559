"""What every task must be, in both precisions: the suite that a new task has to pass."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision, Role
from cudamaster.benchmark.inputs import draw
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.storage import from_storage, to_storage
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.benchmark.margins import EXACT, changes, honest_ratios, many_seeds, mutant_effects, small_cases
from cudamaster.tests.benchmark.mutations import right

pytestmark = pytest.mark.filterwarnings("error")
units = pytest.mark.parametrize(
    ("task", "precision"),
    [pytest.param(load_task(n), p, id=f"{n}-{p}") for n in task_names() for p in Precision],
)
tasks = pytest.mark.parametrize("task", [pytest.param(load_task(n), id=n) for n in task_names()])


@units
def test_the_source_has_the_prototypes_of_the_contract(task, precision):
    source = re.sub(r"\s+", " ", task.source(precision))
    for prototype in (task.contract.prototype(precision), task.contract.workspace_prototype()):
        assert prototype in source, f"{task.name} {precision}: not in the source: {prototype}"


@tasks
def test_it_says_what_it_is(task):
    assert task.name == task.folder.name == task.contract.entry
    for text in (task.category, task.formula, task.waste):
        assert text.strip() == text != ""
        assert "\n" not in text
    assert 2 <= len(task.strategies) <= 6
    assert not any("_" in strategy for strategy in task.strategies), "strategies are words for a reader"


@tasks
def test_its_cases_are_legal_and_each_is_there_once(task):
    sizes = {a.name for a in task.contract.sizes}
    scalars = {a.name for a in task.contract.arguments if a.role is Role.SCALAR}
    nullable = {a.name for a in task.contract.arrays if a.nullable}
    for case in task.cases:
        assert case.sizes.keys() == sizes
        assert case.scalars.keys() == scalars
        assert set(case.null) <= nullable
        assert all(0 <= value < 2**31 for value in case.sizes.values())
        assert all(array.elements(case.sizes) > 0 for array in task.contract.arrays)
        assert task.legal(case)
    for chosen in CaseSet:
        names = [(c.name, c.exact) for c in task.in_set(chosen)]
        assert names, f"no {chosen} case"
        assert len(names) == len(set(names))


@tasks
def test_its_hidden_cases_are_not_shown_elsewhere(task):
    shown = {c.name for c in task.cases if c.set is not CaseSet.HIDDEN}
    assert not shown & {c.name for c in task.in_set(CaseSet.HIDDEN)}


@units
def test_its_small_cases_are_small_and_its_large_ones_overflow_any_cache(task, precision):
    def array_bytes(case):
        return sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.arrays)

    assert all(array_bytes(c) < 2_000_000 for c in task.in_set(CaseSet.SMALL))
    assert max(array_bytes(c) for c in task.in_set(CaseSet.LARGE)) > 120_000_000
    assert all(array_bytes(c) < 40 * 2**30 for c in task.cases)


@units
def test_work_is_counted_in_whole_positive_numbers_of_64_bits(task, precision):
    for case in task.cases:
        counts = task.complexity(case.sizes), task.min_bytes(case.sizes, precision), task.min_flops(case.sizes)
        assert all(type(count) is int and 0 <= count < 2**63 for count in counts), (case.name, counts)
        assert counts[0] > 0
        assert counts[1] > 0
        array_bytes = sum(
            (2 if a.role is Role.INOUT else 1) * task.contract.bytes_of(a, precision, case.sizes)
            for a in task.contract.arrays
        )
        assert counts[1] <= array_bytes, f"{case.name}: no kernel needs to move more than all arrays"


@units
def test_inputs_are_drawn_from_the_seed_and_representable(task, precision):
    for case in small_cases(task)[:10]:
        first, again, other = (draw(task, case, precision, seed) for seed in (1, 1, 2))
        for argument in task.contract.inputs:
            if argument.name in case.null:
                continue
            dtype = argument.dtype.resolve(precision)
            array = first[argument.name]
            assert array.shape == argument.extents(case.sizes)
            np.testing.assert_array_equal(array, again[argument.name])
            np.testing.assert_array_equal(from_storage(to_storage(array, dtype), dtype), array)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


@units
def test_the_reference_gives_every_output_with_a_sound_bound_and_leaves_its_inputs_alone(task, precision):
    for case in small_cases(task):
        arrays = draw(task, case, precision, 3)
        for array in arrays.values():
            array.setflags(write=False)
        with np.errstate(all="ignore"):
            expected = task.reference(arrays, case, precision)
        assert expected.keys() == {a.name for a in task.contract.outputs if a.name not in case.null}
        for argument in task.contract.outputs:
            if argument.name in case.null:
                continue
            found = expected[argument.name]
            assert np.shape(found.value) == argument.extents(case.sizes)
            if found.bound is not None:
                assert np.shape(found.bound) == np.shape(found.value)
                assert np.all(np.isfinite(found.bound))
                assert np.all(found.bound >= 0)
            if case.exact:
                assert found.bound is None, f"{case.name}: an exact case has no bound"
                single = found.value.astype(np.float32).astype(np.float64)
                np.testing.assert_array_equal(single, found.value, err_msg=f"{case.name}: not exact in float")


@units
def test_a_sample_is_the_reference_at_its_positions(task, precision):
    if task.sample is None:
        assert max(sum(a.elements(c.sizes) for a in task.contract.outputs) for c in task.in_set(CaseSet.PAPER)) <= 2**25
        return
    for case in small_cases(task):
        arrays = draw(task, case, precision, 4)
        with np.errstate(all="ignore"):
            whole = task.reference(arrays, case, precision)
            part = task.sample(arrays, case, precision, np.random.default_rng(0))
        assert part.keys() == whole.keys()
        for name, sampled in part.items():
            at = sampled.positions
            assert np.all(np.diff(at) > 0)
            assert {0, whole[name].value.size - 1} <= set(at.tolist())
            size = float(np.max(np.abs(sampled.value), initial=0.0, where=np.isfinite(sampled.value)))
            np.testing.assert_allclose(
                sampled.value.ravel(), whole[name].value.ravel()[at], rtol=1e-13, atol=1e-14 * size
            )
            if whole[name].bound is None:
                assert sampled.bound is None
            else:
                np.testing.assert_allclose(sampled.bound.ravel(), whole[name].bound.ravel()[at], rtol=1e-6)


@units
def test_honest_variants_use_at_most_half_of_the_bound(task, precision):
    for variant, case, seed, value in honest_ratios(task, precision, range(1), every=4):
        assert value <= 0.5, f"{variant} at {case.name}, seed {seed}: {value:.3g} of the bound"


@pytest.mark.slow
@units
def test_honest_variants_use_at_most_half_of_the_bound_over_many_seeds(task, precision):
    for variant, case, seed, value in honest_ratios(task, precision, many_seeds(task.name), every=4):
        assert value <= 0.5, f"{variant} at {case.name}, seed {seed}: {value:.3g} of the bound"


@units
def test_mutants_are_rejected(task, precision):
    effects = mutant_effects(task, precision, seed=0, enough=1.0)
    assert [name for name, effect in effects.items() if effect <= 1] == []
    assert len(effects) >= 12


@pytest.mark.slow
@units
def test_mutants_are_rejected_over_many_seeds(task, precision):
    for seed in many_seeds(task.name)[1:]:
        effects = mutant_effects(task, precision, seed, enough=1.0)
        assert [name for name, effect in effects.items() if effect <= 1] == [], f"seed {seed}"


def test_another_sign_of_zero_is_no_mistake():
    task = load_task("cross_entropy_loss")
    case = next(case for case in task.cases if case.name == "C=7 sparse")
    for seed in range(50):
        r = right(task, case, Precision.FP32, seed)
        if np.signbit(r.outputs["loss"]) and r.outputs["loss"] == 0:
            assert not changes(r, {"loss": np.zeros_like(r.outputs["loss"])})
            assert changes(r, {"loss": np.ones_like(r.outputs["loss"])})
            return
    pytest.fail("no seed has a loss of -0")


def test_an_exact_comparison_that_fails_is_far_outside():
    assert mutant_effects(load_task("dot_product"), Precision.FP32, 0)["a few units off"] == EXACT
