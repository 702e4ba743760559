"""judge: gates in order, and a gain only for who passes."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.device.port import CallFailed, CallResult
from cudamaster.tools.judge.judge import judge
from cudamaster.tools.records import Build, Candidate, Interval, Speedup, Status

GELU = load_task("gelu")
SOURCE = GELU.source(Precision.FP32)
BASELINE = Build(ok=True, library=__file__)


def judged(source, device=None, baseline=BASELINE):
    return judge(Candidate(source=source), GELU, Precision.FP32, device or FakeDevice(), baseline=baseline)


def test_a_good_candidate_passes_and_is_timed():
    judgement = judged(SOURCE.replace("1024", "512"))
    assert judgement.verdict.passed
    assert judgement.gain is not None
    assert judgement.gain.geomean == 2.0


def test_the_baseline_again_is_unchanged_and_never_built():
    device = FakeDevice()
    judgement = judged("// mine\n" + SOURCE.replace("    ", "\t"), device)
    assert judgement.verdict.status is Status.UNCHANGED
    assert not device.builds


def test_without_a_baseline_it_may_be_the_baseline_and_nothing_is_timed():
    judgement = judged(SOURCE, baseline=None)
    assert judgement.verdict.passed
    assert judgement.gain is None


def test_a_forbidden_call_is_never_built():
    device = FakeDevice()
    judgement = judged(
        SOURCE.replace("return cudaGetLastError();", "cudaDeviceSynchronize(); return cudaSuccess;"), device
    )
    assert judgement.verdict.status is Status.FORBIDDEN
    assert "cudaDeviceSynchronize" in judgement.verdict.summary
    assert not device.builds


def test_a_build_error_is_not_run():
    device = FakeDevice()
    judgement = judged(SOURCE + "\n// syntax error", device)
    assert judgement.verdict.status is Status.UNCHANGED
    judgement = judged(SOURCE + "\nint x; // syntax error", device)
    assert judgement.verdict.status is Status.BUILD_ERROR
    assert judgement.gain is None
    assert device.opened == 0


def measured(value=1.5, low=1.45, high=1.55, notes=()):
    return Speedup(cases=(), geomean=Interval(value=value, low=low, high=high), weighted=value, notes=notes)


def timed_by(compare):
    device = FakeDevice()
    device.compare = compare
    return judged(SOURCE.replace("1024", "512"), device)


def test_a_measured_gain_is_kept_with_its_notes():
    judgement = timed_by(lambda *_: measured(notes=("noisy: one case",)))
    assert judgement.verdict.passed
    assert judgement.gain.geomean.value == 1.5


@pytest.mark.parametrize(
    ("gain", "status"),
    [
        (measured(notes=("noisy: hm", "suspect: 0.1 us is below 0.9 of the floor 3.0 us, at N=1")), Status.SUSPECT),
        (measured(low=0.9, high=2.1), Status.NOISY),
    ],
)
def test_a_gain_that_cannot_be_believed_is_none(gain, status):
    judgement = timed_by(lambda *_: gain)
    assert judgement.verdict.status is status
    assert judgement.verdict.cases
    assert judgement.gain is None


@pytest.mark.parametrize(("library", "status"), [("candidate", Status.CRASH), ("baseline", Status.INFRA_ERROR)])
def test_a_call_that_fails_while_timed_is_blamed_on_the_right_party(library, status):
    def compare(*_):
        raise CallFailed(CallResult("crash", "illegal address"), library)

    judgement = timed_by(compare)
    assert judgement.verdict.status is status
    assert "illegal address" in judgement.verdict.summary
