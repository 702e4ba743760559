"""A case that can't fit, or would take too long, is refused before its data are made."""

from __future__ import annotations

from cudamaster.benchmark.cases import cases
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.judge import memory
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build, Status

GELU = load_task("gelu")


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


def test_a_case_that_takes_hours_to_make_is_unsupported_and_says_how_long(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    convolution = load_task("conv_2d")
    (case,) = cases("small", in_rows=4000, in_cols=4000, k_rows=2000, k_cols=2000)
    verdict = verify(Build(ok=True, library=__file__), convolution, Precision.FP32, FakeDevice(), cases=[case])
    assert verdict.status is Status.UNSUPPORTED
    assert "would take about 1397 minutes to make, at most 15 are spent on a case" in verdict.summary
