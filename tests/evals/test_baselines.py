from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.library.cub import CUB
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.evals import baselines as module
from cudamaster.evals.baseline_records import (
    Failed,
    ProfiledBaseline,
    Session,
    TimedCase,
    library_times,
    read_measured,
)
from cudamaster.evals.baselines import WHAT, library_names, main, measure, missing, write_pages
from cudamaster.evals.baselines_page import baselines_page
from cudamaster.evals.diagnosis_page import diagnosis_page
from cudamaster.evals.lines import append_lines
from cudamaster.graph.executor import Died
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.device.port import DeviceInfo
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.records import Bottleneck, Build, Diagnosis, Finding, Resources

SAMPLES = Path(__file__).parents[1] / "data" / "ncu"
INFO = DeviceInfo(name="cuda", gpu="NVIDIA H200", arch="sm_90", multiprocessors=132, driver="580.1", toolkit="13.0")
SESSION = Session(device=INFO, date="2026-01-02", rates={"dram_gbps": 4000.0})
HEAVIEST = "N=262144 uniform"


def recorded(unit: str, name: str, bottleneck: Bottleneck, finding: str) -> ProfiledBaseline:
    found = Finding(name=finding, sentence="It is slow.", evidence="seen", bound=2.0)
    return ProfiledBaseline(
        unit=unit,
        case="N=1",
        profile=parse_ncu_csv((SAMPLES / f"{name}.csv").read_text(), case="N=1"),
        diagnosis=Diagnosis(bottleneck=bottleneck, findings=(found,)),
    )


PROFILED = [
    recorded("relu-fp32", "copy_256mb", Bottleneck.BANDWIDTH, "near_floor"),
    recorded("relu-bf16", "pointer_chase", Bottleneck.LATENCY, "stall_mix"),
    recorded("gelu-fp32", "fma_loop", Bottleneck.COMPUTE, "near_floor"),
]


def timed(unit: str = "relu-fp32", arm: str = "", case: str = HEAVIEST, **more: Any) -> TimedCase:
    known = {"set": "paper", "status": "pass", "time_us": 20.0, "calls": 11, "floor_us": 2.0}
    return TimedCase(unit=unit, arm=arm, case=case, **(known | more))


TIMED = [
    timed(),
    timed(arm="PyTorch relu", time_us=4.0, planned_us=30.0, worst_ratio=0.25),
    timed(arm="Slow relu", time_us=5.0),
    timed(case="N=1024 uniform", time_us=None, status="wrong", reason="out[3] is 7"),
]


def test_the_diagnosis_page_counts_classes_findings_and_tokens() -> None:
    text = diagnosis_page(PROFILED)
    assert "measured on one NVIDIA H200" in text
    for bottleneck in Bottleneck:
        assert f"| {bottleneck.value} | 1 |" in text
    assert "| near_floor | 2 | 2 |" in text
    assert "| relu-fp32 | N=1 | 123.4 | memory_bandwidth_bound | near_floor | 2× | It is slow. |" in text
    assert "| filtered | " in text


def test_the_page_of_times_tells_rates_ratios_and_faults() -> None:
    text = baselines_page(SESSION, TIMED, {"relu-fp32": "memory_latency_bound"})
    unit = f"| relu-fp32 | memory_latency_bound | {HEAVIEST} | 20.0 | 105 GB/s | 0.1 | 5 | PyTorch relu |"
    assert unit in text  # 2 MiB in 20 us; the floor is 2 us; the fastest library takes 4
    assert f"| paper | {HEAVIEST} | 20.0 | 105 GB/s | 0.1 | 5 | PyTorch relu | 4.0 | 30.0 |" in text
    assert "| | | | | | | Slow relu | 5.0 | – |" in text
    assert "| baselines | paper | 1 | 2 | 1 | 0.000 |" in text
    assert "| libraries | paper | 1 | 2 | 2 | 0.250 |" in text
    assert "- relu-fp32, the baseline: wrong at 1 cases, such as N=1024 uniform: out[3] is 7" in text


def test_floors_keep_the_ceilings_of_the_session() -> None:
    assert SESSION.gpu == gpu_model("NVIDIA H200").model_copy(update={"dram_gbps": 4000.0})


def test_nothing_measured_is_an_error_not_an_empty_page(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no baseline"):
        diagnosis_page([])
    with pytest.raises(ValueError, match="no baseline"):
        baselines_page(SESSION, [], {})
    with pytest.raises(ValueError, match="where"):
        write_pages(TIMED, tmp_path)


def test_a_file_keeps_the_last_word_and_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data.jsonl"
    append_lines(path, [SESSION, *TIMED, *PROFILED, Failed(unit="gelu-bf16", what="profile", reason="no ncu")])
    append_lines(path, [timed(time_us=19.0), SESSION.model_copy(update={"date": "2026-01-03"})])
    with path.open("a") as file:
        file.write(timed(time_us=1.0).model_dump_json()[:-20])  # cut short
    found = read_measured(path)
    assert len(found) == 1 + len(TIMED) + len(PROFILED)
    assert next(r.date for r in found if isinstance(r, Session)) == "2026-01-03"
    assert timed(time_us=19.0) in found
    append_lines(path, [timed(time_us=18.0)])
    assert timed(time_us=18.0) in read_measured(path), "what comes after a line that was cut short is whole"
    assert read_measured(tmp_path / "none.jsonl") == []
    path.write_text('{"kind": "session", "date": "2026-01-02"}\n')
    with pytest.raises(ValueError, match="device"):
        read_measured(path)


def test_the_fastest_library_of_a_case_counts() -> None:
    large = timed(arm="PyTorch relu", set="large", time_us=1.0)
    wrong = timed(arm="Wrong relu", time_us=None, status="wrong")
    assert library_times([SESSION, large, wrong, *TIMED]) == {("relu-fp32", HEAVIEST): 4.0}


def test_only_what_the_data_lack_is_measured() -> None:
    def left(*known: Any, what: Any = WHAT) -> list[tuple[str, str, int]]:
        return [
            (w.unit, w.what, len(w.arguments[3]) if len(w.arguments) > 3 else 0)  # type: ignore[arg-type]
            for w in missing(known, ["relu"], what, [CaseSet.PAPER], "cuda")
        ]

    paper = len(load_task("relu").in_set(CaseSet.PAPER))
    units = ("relu-fp32", "relu-bf16")
    kinds = (("paper", paper), ("profile", 0), ("library paper", paper))
    assert left() == [(unit, kind, count) for kind, count in kinds for unit in units]
    assert left(timed(), what=["baseline"]) == [("relu-fp32", "paper", paper - 1), ("relu-bf16", "paper", paper)]
    assert left(timed(set="large"), what=["baseline"])[0] == ("relu-fp32", "paper", paper), "another set's case"
    short = timed(status="unsupported", reason="its data need about 9 GB of memory, 2 GB are free")
    assert left(short, what=["baseline"])[0] == ("relu-fp32", "paper", paper), "memory was short: tried again"
    assert left(PROFILED[0], what=["profile"]) == [("relu-bf16", "profile", 0)]
    assert left(timed(arm="PyTorch relu"), what=["library"])[0] == ("relu-fp32", "library paper", paper - 1)


def test_large_cases_are_work_of_their_own() -> None:
    work = [w.arguments[3] for w in missing([], ["matrix_transpose"], ["baseline"], [CaseSet.PAPER], "cuda")]
    names = [name for part in work for name in part]  # type: ignore[attr-defined]
    assert len(names) == len(set(names)) * 2 == 2 * len(load_task("matrix_transpose").in_set(CaseSet.PAPER))
    assert len(work) > 4


def test_answers_that_take_minutes_are_marked() -> None:
    work = missing([], ["matrix_power", "matrix_mul"], ["baseline"], [CaseSet.LARGE], "cuda")
    assert {w.unit for w in work if w.dear} == {"matrix_power-fp32", "matrix_power-bf16"}


def test_what_dies_is_noted_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pool:
        def __init__(self, jobs: int) -> None:
            self.stop = lambda: None

        def run(self, calls: Any) -> Any:
            yield 1, Died("killed by SIGKILL")
            yield 0, [timed()]

    monkeypatch.setattr(module, "Pool", Pool)
    path = tmp_path / "data.jsonl"
    work = list(missing([], ["relu"], ["baseline"], [CaseSet.PAPER], "cuda"))
    measure(path, work, 2, 60.0)
    assert read_measured(path) == [timed()]
    assert "killed by SIGKILL" in path.read_text()
    again = list(missing(read_measured(path), ["relu"], ["baseline"], [CaseSet.PAPER], "cuda"))
    assert [w.unit for w in again] == [w.unit for w in work]


def test_recorded_profiles_are_diagnosed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamaster.evals import measure_baseline

    used = Resources(kernel="relu_kernel", registers=16)
    monkeypatch.setattr(measure_baseline, "nvcc_build", lambda *_: Build(ok=True, resources=(used,)))
    old = PROFILED[1].model_copy(update={"case": HEAVIEST, "unit": "relu-bf16"})
    path = tmp_path / "data.jsonl"
    append_lines(path, [SESSION, old])
    main([str(path), "--diagnose"])
    new = next(r for r in read_measured(path) if isinstance(r, ProfiledBaseline))
    assert new.profile == old.profile
    assert new.diagnosis != old.diagnosis
    assert new.diagnosis.findings


def test_pages_are_written_from_data_alone(tmp_path: Path) -> None:
    data, folder = tmp_path / "data.jsonl", tmp_path / "pages"
    append_lines(data, [SESSION, *TIMED, *PROFILED])
    main([str(data), "--pages", str(folder)])
    assert sorted(path.name for path in folder.iterdir()) == ["baselines_h200.md", "diagnosis_h200.md"]


def test_the_arms_of_a_task_have_names_of_their_own() -> None:
    assert library_names("dot_product", Precision.FP32) == ["cuBLAS dot", CUB["dot_product"]]
    assert library_names("dot_product", Precision.BF16) == [CUB["dot_product"]]
