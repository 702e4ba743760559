"""The judge's cost and repeatability: measured on a device that answers at once, and the page from the file alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.evals import judge_measured as module
from cudamaster.evals.judge_measured import Again, AgainstItself, Evaluation, main, page, read_rows
from cudamaster.tests.tools.judge.fake_device import FakeDevice
from cudamaster.tools.device.port import DeviceInfo, DeviceUnavailable, Unsupported
from cudamaster.tools.records import CaseGain, Interval, Profile, Speedup, Status

INFO = DeviceInfo(name="cuda", gpu="NVIDIA X", arch="sm_90", multiprocessors=1, driver="1.2", toolkit="13.0")


class Quick(FakeDevice):
    """Says that the candidate is twice as fast as the baseline, a little more each time."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0

    def info(self) -> DeviceInfo:
        return INFO

    def checked_cases(self, task: Any) -> Any:
        return task.in_set(CaseSet.SMALL)[:2]

    def compare(
        self, baseline: Any, candidate: Any, task: Any, precision: Any, cases: Any, to_beat: Any = None
    ) -> Speedup:
        self.compared += 1
        value = 1.0 if baseline == candidate else 2.0 + self.compared / 1000
        ratio = Interval(value=value, low=value - 0.01, high=value + 0.01)
        gain = CaseGain(case="c", set="paper", complexity=1, baseline_us=2.0, candidate_us=1.0, ratio=ratio)
        return Speedup(cases=(gain,), geomean=ratio, weighted=value)

    def profile(self, build: Any, task: Any, precision: Any, case: Any) -> Profile:
        raise Unsupported("no counters")


@pytest.fixture
def candidates(tmp_path: Path) -> Path:
    folder = tmp_path / "candidates"
    folder.mkdir()
    source = load_task("dot_product").source(Precision.FP32)
    (folder / "dot_product-fp32.cu").write_text(source + "namespace { __device__ int other; }\n")
    return folder


@pytest.fixture
def run(tmp_path: Path, candidates: Path) -> Callable[[Any], str]:
    def run_(device: Any) -> str:
        def find(name: str) -> Any:
            if device is None:
                raise DeviceUnavailable("no GPU here")
            return device

        data, written = tmp_path / "d.jsonl", tmp_path / "p.md"
        main([str(data), str(written), "--candidates", str(candidates), "--tasks", "dot_product"], find)
        return written.read_text()

    return run_


def test_everything_is_measured_once(run: Callable[[Any], str], tmp_path: Path) -> None:
    device = Quick()
    text = run(device)
    rows = read_rows(tmp_path / "d.jsonl")
    assert [type(row) for row in rows[1:]] == [Evaluation, AgainstItself, AgainstItself, *[Again] * module.TIMES]
    assert all(row.status is Status.PASS for row in rows if isinstance(row, Evaluation | Again))
    evaluation = rows[1]
    assert isinstance(evaluation, Evaluation)
    assert evaluation.profile_seconds is None
    assert evaluation.phases["verify"] > 0
    times = device.compared
    assert run(device) == text
    assert device.compared == times
    assert run(None) == text  # from the file alone


def test_what_was_cut_off_is_measured_again(run: Callable[[Any], str], tmp_path: Path) -> None:
    run(Quick())
    data = tmp_path / "d.jsonl"
    data.write_text(data.read_text()[:-40] + "\n")
    assert len(read_rows(data)) == 3 + module.TIMES
    run(Quick())
    assert len(read_rows(data)) == 4 + module.TIMES


def test_the_page_counts_intervals_and_spread(run: Callable[[Any], str], tmp_path: Path) -> None:
    text = run(Quick())
    assert "NVIDIA X, driver 1.2, CUDA 13.0" in text
    assert "covers 1 for 2 of 2" in text
    off = AgainstItself(unit="u", ratio=Interval(value=1.02, low=1.01, high=1.03), seconds=1.0)
    again = [Again(unit="u", status="pass", seconds=1, speedup=Interval(value=v, low=v, high=v)) for v in (2.0, 2.03)]
    found = page([*read_rows(tmp_path / "d.jsonl")[:3], off, *again])
    assert "covers 1 for 1 of 2; the largest ratio is\n1.0200" in found
    assert "within 1.50 % of each other" in found
