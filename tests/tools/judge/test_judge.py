"""judge: gates in order, and a gain only for who passes."""

from __future__ import annotations

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.judge.judge import judge
from cudamaster.tools.records import Build, Candidate, Status

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
