"""The judge with a real device: CUDA source, compiled and run."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.device.select import get_device
from cudamaster.tools.judge.judge import judge
from cudamaster.tools.records import Candidate, Status


@pytest.fixture(scope="module")
def device():
    try:
        return get_device("cpu")
    except DeviceUnavailable as error:
        pytest.skip(str(error))


def judged(device, name, precision, change=lambda source: source):
    task = load_task(name)
    source = change(task.source(precision))
    return judge(Candidate(source=source), task, precision, device, baseline=None).verdict


def replaced(old, new):
    def change(source):
        assert old in source
        return source.replace(old, new)

    return change


def test_a_baseline_is_right(device):
    verdict = judged(device, "gelu", Precision.BF16)
    assert verdict.passed, verdict.detail
    assert max(e.worst_ratio for e in verdict.cases) <= 0.51


@pytest.mark.slow
@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize("precision", Precision)
def test_every_baseline_is_right(device, name, precision):
    verdict = judged(device, name, precision)
    assert verdict.passed, verdict.detail


@pytest.mark.parametrize(
    ("name", "change", "status", "says"),
    [
        ("dot_product", replaced("i < N;", "i < N - 1;"), Status.WRONG, "should be"),
        ("gelu", replaced("i < N;", "i <= N;"), Status.WRONG, "memory after 'out' was overwritten"),
        ("gelu", replaced("1024, 0", "2048, 0"), Status.LAUNCH_ERROR, "invalid configuration"),
        pytest.param(
            "gelu", replaced("i += blockDim.x", "i += 0"), Status.TIMEOUT, "no answer", marks=pytest.mark.slow
        ),
    ],
    ids=["last_term_dropped", "one_too_many", "block_too_large", "endless"],
)
def test_a_broken_kernel_is_told_what_is_wrong(device, name, change, status, says):
    verdict = judged(device, name, Precision.FP32, change)
    assert verdict.status is status, verdict.summary
    assert says in verdict.detail
