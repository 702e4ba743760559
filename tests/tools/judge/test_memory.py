"""A case that can't fit is refused before its data are made."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.judge import memory
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build, Status

GELU = load_task("gelu")


def test_the_estimate_counts_every_copy():
    case = GELU.in_set(CaseSet.SMALL)[0].model_copy(update={"sizes": {"N": 1000}})
    assert memory.host_bytes(GELU, case, Precision.FP32, sampled=False) == 1000 * (20 + 40)
    assert memory.host_bytes(GELU, case, Precision.BF16, sampled=True) == 1000 * (18 + 4)


def test_the_system_is_asked():
    free = memory.available_bytes()
    assert free is None or free > 10_000_000


def test_a_case_too_large_is_unsupported_and_says_how_large(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**9)
    case = GELU.in_set(CaseSet.LARGE)[-1]
    verdict = verify(Build(ok=True, library=__file__), GELU, Precision.FP32, FakeDevice(), cases=[case])
    assert verdict.status is Status.UNSUPPORTED
    assert "GB of memory, 1.0 GB are free" in verdict.summary


def test_an_unknown_amount_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.must_fit(GELU, GELU.in_set(CaseSet.LARGE)[-1], Precision.FP32, sampled=True)


@pytest.mark.parametrize("precision", Precision)
def test_every_small_case_needs_little(precision):
    assert all(memory.host_bytes(GELU, c, precision, sampled=False) < 10**8 for c in GELU.in_set(CaseSet.SMALL))
