"""What is published of an H200: the pages follow from the data, and the data say what the pages claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.evals.baseline_records import ProfiledBaseline, TimedCase, read_measured
from cudamaster.evals.baselines import write_pages
from cudamaster.tools.profile.filter import CLASSIFIED_BY, H200_THRESHOLD_PCT
from cudamaster.tools.profile.otsu import otsu
from cudamaster.tools.profile.totals import totals

RESULTS = Path(__file__).parents[2] / "docs" / "results"
MEASURED = read_measured(RESULTS / "baselines_h200.jsonl.gz")
TIMED = [record for record in MEASURED if isinstance(record, TimedCase)]
PROFILED = [record for record in MEASURED if isinstance(record, ProfiledBaseline)]


def test_the_pages_are_what_the_data_make(tmp_path: Path) -> None:
    write_pages(MEASURED, tmp_path)
    for page in ("baselines_h200.md", "diagnosis_h200.md"):
        assert (RESULTS / page).read_text() == (tmp_path / page).read_text(), (
            "python -m cudamaster.evals.baselines docs/results/baselines_h200.jsonl.gz --pages docs/results"
        )


def test_the_frozen_threshold_is_otsus_of_the_data() -> None:
    values = [totals(record.profile)[name].value for record in PROFILED for name in CLASSIFIED_BY]
    assert otsu(values).threshold == pytest.approx(H200_THRESHOLD_PCT, abs=0.5)


def test_every_baseline_is_right_at_every_size_of_the_paper() -> None:
    tried = {(record.unit, record.case) for record in TIMED if not record.arm and record.set == "paper"}
    wanted = {
        (f"{name}-{precision}", case.name)
        for name in task_names()
        for precision in Precision
        for case in load_task(name).in_set(CaseSet.PAPER)
    }
    assert tried == wanted


def test_every_baseline_is_right_wherever_it_was_tried() -> None:
    assert [record for record in TIMED if not record.arm and record.status != "pass"] == []


def test_the_judge_accepts_every_library_that_takes_the_case() -> None:
    assert {record.status for record in TIMED if record.arm} <= {"pass", "unsupported"}
    assert not [record for record in TIMED if record.arm and record.set != "small" and record.status != "pass"]
