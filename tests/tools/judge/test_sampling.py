"""Big outputs are compared at a sample of positions, and unwritten elements are found everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from cudamaster.benchmark import sampling
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import Call, FakeDevice, honest
from cudamaster.tools.judge import reference
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build, Status

BUILD = Build(ok=True, library=__file__)


@pytest.fixture(autouse=True)
def everything_is_big(monkeypatch):
    monkeypatch.setattr(reference, "SAMPLED_ELEMENTS", 0)
    monkeypatch.setattr(reference, "_recent", reference._Recent(1 << 30))


def judged(kernel, name="matrix_mul"):
    task = load_task(name)
    cases = [c for c in task.in_set(CaseSet.SMALL) if c.sizes.get("M", 65) >= 64 and c.sizes.get("K", 2) > 1]
    return verify(BUILD, task, Precision.FP32, FakeDevice(kernel), cases=cases)


@pytest.mark.parametrize("name", ["matrix_mul", "gelu", "softmax", "stencil_2d"])
def test_an_honest_kernel_passes(name):
    verdict = judged(honest, name)
    assert verdict.passed, verdict.detail


def test_a_wrong_tile_is_found_and_named_by_its_place_in_the_whole():
    def kernel(call: Call) -> None:
        honest(call)
        call.memory["C"][:64, :8] += 1

    verdict = judged(kernel)
    assert verdict.status is Status.WRONG
    assert "C[" in verdict.summary
    assert "sampled elements" in verdict.summary


def test_an_unwritten_row_between_the_samples_is_found():
    def skips_two_rows(call: Call) -> None:
        poisoned = call.memory["C"][1:3].copy()
        honest(call)
        call.memory["C"][1:3] = poisoned

    verdict = judged(skips_two_rows)
    assert verdict.status is Status.WRONG
    assert "never written" in verdict.detail


def test_rows_leave_no_band_unseen():
    chosen = sampling.rows(1000, np.random.default_rng(0), band=64)
    assert chosen[0] == 0
    assert chosen[-1] == 999
    assert set(chosen // 64) == set(range(16))


def test_positions_are_few_ascending_and_reach_both_ends():
    chosen = sampling.positions(10**6, np.random.default_rng(0), most=1000)
    assert len(chosen) <= 1002
    assert chosen[0] == 0
    assert chosen[-1] == 10**6 - 1
    assert np.all(np.diff(chosen) > 0)
    np.testing.assert_array_equal(sampling.positions(5, np.random.default_rng(0)), np.arange(5))
