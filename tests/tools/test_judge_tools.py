"""The tools nvcc, run_kernel and sanitize: plain answers, never an exception."""

from __future__ import annotations

import json

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tests.tools.judge.fake_device import Call, FakeDevice
from cudamaster.tools import nvcc as nvcc_module
from cudamaster.tools import run_kernel as run_kernel_module
from cudamaster.tools import sanitize as sanitize_module
from cudamaster.tools.device.port import DeviceUnavailable, Unsupported
from cudamaster.tools.records import Build, CaseEvidence, EstimatedSpeedup, Verdict

MODULES = (nvcc_module, run_kernel_module, sanitize_module)
SOURCE = load_task("gelu").source(Precision.FP32)
BUILD = Build(ok=True, library=__file__).model_dump(mode="json")
UNIT = {"task": "gelu", "precision": "fp32", "device": "cpu"}
ARGUMENTS = {
    "nvcc": {**UNIT, "source": SOURCE, "spec": {}},
    "run_kernel": {**UNIT, "build": BUILD, "source": SOURCE},
    "sanitize": {**UNIT, "build": BUILD},
}


@pytest.fixture
def use(monkeypatch):
    def choose(device):
        def get_device(name):
            if isinstance(device, Exception):
                raise device
            return device

        for module in MODULES:
            monkeypatch.setattr(module, "get_device", get_device)
        return device

    choose(FakeDevice())
    return choose


def ask(name, **arguments):
    module = {"nvcc": nvcc_module, "run_kernel": run_kernel_module, "sanitize": sanitize_module}[name]
    answer = getattr(module, name).invoke({**ARGUMENTS[name], **arguments})
    json.dumps(answer, allow_nan=False)
    return answer


def test_nvcc_answers_with_the_build(use):
    answer = ask("nvcc", spec={"optimization": "-O2"})
    assert answer["status"] == "ok"
    assert Build.model_validate(answer["build"]).ok


def test_nvcc_says_why_a_source_does_not_build(use):
    answer = ask("nvcc", source="syntax error")
    assert answer["status"] == "build_error"
    assert "expected a ';'" in answer["reason"]


def test_nvcc_blames_a_bad_option_on_the_options(use):
    device = use(FakeDevice())
    answer = ask("nvcc", spec={"optimization": "-O9; rm -rf /"})
    assert answer["status"] == "build_error"
    assert answer["build"]["failure"] == "option"
    assert device.builds == []


def test_run_kernel_verifies_and_compares(use):
    answer = ask("run_kernel", source=SOURCE.replace("1024", "512"), baseline=BUILD, seed=7)
    assert answer["status"] == "pass"
    assert Verdict.model_validate(answer["verdict"]).passed
    assert EstimatedSpeedup.model_validate(answer["gain"]).geomean == 2.0


def test_run_kernel_verifies_the_baseline_itself_if_there_is_nothing_to_compare_with(use):
    answer = ask("run_kernel")
    assert answer["status"] == "pass"
    assert answer["gain"] is None


def test_run_kernel_judges_the_baseline_where_that_is_asked(use):
    answer = ask("run_kernel", baseline=BUILD, may_be_baseline=True)
    assert answer["status"] == "pass"
    assert answer["verdict"]["cases"]


def test_run_kernel_does_not_run_the_baseline_against_itself(use):
    device = use(FakeDevice())
    assert ask("run_kernel", baseline=BUILD)["status"] == "unchanged"
    mine = SOURCE.replace("1024", "512")
    assert ask("run_kernel", baseline=BUILD, source=mine, baseline_source=mine)["status"] == "unchanged"
    assert device.opened == 0


def test_run_kernel_gives_no_gain_to_a_wrong_kernel(use):
    def zero(call: Call) -> None:
        call.memory["out"][...] = 0

    use(FakeDevice(zero))
    answer = ask("run_kernel", source=SOURCE.replace("1024", "512"), baseline=BUILD)
    assert answer["status"] == "wrong"
    assert answer["gain"] is None


def test_sanitize_answers_with_its_findings(use):
    assert ask("sanitize") == {"status": "ok", "findings": []}
    device = use(FakeDevice())
    finding = CaseEvidence(case="N=1", set="small", seed=0, ok=False, reason="race")
    device.sanitize = lambda build, task, precision, case: (finding,)
    answer = ask("sanitize")
    assert answer["status"] == "found"
    assert answer["findings"][0]["reason"] == "race"


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeviceUnavailable("no GPU here"), "waiting_device"),
        (Unsupported("no counters"), "unsupported"),
        (OSError("disk full"), "infra_error"),
    ],
)
def test_faults_are_answers(use, name, error, status):
    use(error)
    answer = ask(name)
    assert answer["status"] == status
    assert str(error) in answer["reason"]


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("bad", [{"task": "gelo"}, {"precision": "fp16"}])
def test_bad_arguments_are_answers(use, name, bad):
    answer = ask(name, **bad)
    assert answer["status"] == "infra_error"
    assert "did you mean gelu" in answer["reason"] or "fp16" in answer["reason"]
