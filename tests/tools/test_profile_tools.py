"""The tools ncu, bottleneck_filter and diagnose: plain answers, never an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.registry import load_task
from cudamaster.tools import ncu as ncu_module
from cudamaster.tools.bottleneck_filter import bottleneck_filter
from cudamaster.tools.device.port import DeviceUnavailable, Unsupported
from cudamaster.tools.diagnose import diagnose
from cudamaster.tools.ncu import ncu
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.records import Build, Profile

TASK = load_task("dot_product")
CASE = TASK.cases[-1]
REPORT = (Path(__file__).parents[1] / "data" / "ncu" / "dot_atomic_64k.csv").read_text()
PROFILE = parse_ncu_csv(REPORT, case=CASE.name)


class Recorded:
    """A device that answers with the recorded report."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def timed_cases(self, task: Any) -> Any:
        return task.cases

    def profile(self, build: Build, task: Any, precision: Any, case: Any) -> Profile:
        if self.error:
            raise self.error
        return PROFILE.model_copy(update={"case": case.name})


def on(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    monkeypatch.setattr(ncu_module, "get_device", lambda name: device)


BUILD = Build(ok=True).model_dump(mode="json")
WHERE = {"task": "dot_product", "precision": "fp32"}


def test_ncu_profiles_the_heaviest_timed_case_of_moderate_size(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, Recorded())
    answer = ncu.invoke({"build": BUILD, **WHERE})
    assert answer["status"] == "ok"
    profiled = next(case for case in TASK.cases if case.name == answer["profile"]["case"])
    sizes = sorted(case.sizes["N"] for case in TASK.cases)
    assert profiled.sizes["N"] == max(n for n in sizes if 8 * n < 192 << 20)  # two arrays of floats
    assert profiled.sizes["N"] < sizes[-1]
    json.dumps(answer)


def test_ncu_profiles_the_smallest_of_large_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Recorded()
    on(monkeypatch, device)
    large = sorted((c for c in TASK.cases if c.sizes["N"] >= 1 << 24), key=lambda c: -c.sizes["N"])
    monkeypatch.setattr(ncu_module, "_LIGHT_BYTES", 1 << 20)
    monkeypatch.setattr(device, "timed_cases", lambda task: large)
    assert ncu.invoke({"build": BUILD, **WHERE})["profile"]["case"] == large[-1].name


def test_ncu_profiles_the_case_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, Recorded())
    assert ncu.invoke({"build": BUILD, "case": TASK.cases[0].name, **WHERE})["profile"]["case"] == TASK.cases[0].name


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DeviceUnavailable("no GPU here"), "waiting_device"),
        (Unsupported("no counters here: run as root"), "unsupported"),
        (RuntimeError("lost"), "infra_error"),
    ],
)
def test_ncu_answers_faults_with_their_reason(monkeypatch: pytest.MonkeyPatch, error: Exception, status: str) -> None:
    on(monkeypatch, Recorded(error))
    answer = ncu.invoke({"build": BUILD, **WHERE})
    assert answer["status"] == status
    assert str(error) in answer["reason"]


def test_ncu_refuses_a_case_that_the_task_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, Recorded())
    answer = ncu.invoke({"build": BUILD, "case": "N=7 nonsense", **WHERE})
    assert answer["status"] == "unsupported"
    assert "N=7 nonsense" in answer["reason"]


def test_the_filter_names_the_class_and_keeps_four_metrics() -> None:
    answer = bottleneck_filter.invoke({"profile": PROFILE.model_dump(mode="json"), "threshold_pct": 30.0})
    assert (answer["status"], answer["bottleneck"]) == ("ok", "memory_latency_bound")
    assert set(answer["metrics"]) == {"l2_hit_rate_pct", "l1_hit_rate_pct", "executed_ipc_elapsed", "mem_busy_pct"}
    json.dumps(answer)


def test_the_filter_answers_a_profile_without_throughputs() -> None:
    bare = PROFILE.model_copy(update={"launches": (PROFILE.launches[0].model_copy(update={"metrics": {}}),)})
    answer = bottleneck_filter.invoke({"profile": bare.model_dump(mode="json")})
    assert answer["status"] == "unsupported"
    assert "sm_throughput_pct" in answer["reason"]


def test_the_diagnosis_names_the_atomics_of_the_baseline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path))
    answer = diagnose.invoke(
        {"profile": PROFILE.model_dump(mode="json"), "build": BUILD, "source": TASK.source("fp32"), **WHERE}  # type: ignore[arg-type]
    )
    assert answer["status"] == "ok"
    assert answer["bottleneck"] == "memory_latency_bound"
    assert answer["findings"][0]["name"] == "same_address_atomics"
    json.dumps(answer)


@pytest.mark.parametrize("wrong", [{"case": "N=7 nonsense"}, {"launches": []}])
def test_the_diagnosis_answers_what_it_can_not_diagnose(wrong: dict[str, Any]) -> None:
    answer = diagnose.invoke({"profile": {**PROFILE.model_dump(mode="json"), **wrong}, **WHERE})
    assert answer["status"] == "unsupported"
    assert answer["reason"]
