"""Nsight Compute's own reader and its table say the same; the reader runs in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cudamaster.tools.profile.ncu_csv import UnreadableReport, parse_ncu_csv
from cudamaster.tools.profile.ncu_report import read_ncu_report, report_module

DATA = Path(__file__).parents[2] / "data" / "ncu"
MODULE = '''"""A stand-in for Nsight Compute's module: the part of its interface that is used, over recorded values."""
import json


class Metric:
    def __init__(self, value, unit):
        self._value, self._unit = value, unit

    def has_value(self):
        return self._value is not None

    def value(self):
        return self._value

    def unit(self):
        return self._unit


class Action:
    NameBase_DEMANGLED = 1

    def __init__(self, launch):
        self._launch = launch

    def name(self, base):
        assert base == Action.NameBase_DEMANGLED
        return self._launch["kernel"]

    def metric_names(self):
        return tuple(self._launch["metrics"])

    def metric_by_name(self, name):
        return Metric(*self._launch["metrics"][name])


class Range:
    def __init__(self, launches):
        self._launches = launches

    def num_actions(self):
        return len(self._launches)

    def action_by_idx(self, index):
        return Action(self._launches[index])


class Report:
    def __init__(self, path):
        self._ranges = [Range([launch]) for launch in json.load(open(path))]

    def num_ranges(self):
        return len(self._ranges)

    def range_by_idx(self, index):
        return self._ranges[index]


load_report = Report
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "extras" / "python"
    folder.mkdir(parents=True)
    (folder / "ncu_report.py").write_text(MODULE)
    return folder


def test_report_and_table_give_the_same_profile(module: Path) -> None:
    table = parse_ncu_csv((DATA / "two_kernels.csv").read_text(), case="c", wanted=("duration_us",))
    report = read_ncu_report(module, DATA / "two_kernels.json", case="c", wanted=("duration_us",))
    assert report.gpu == table.gpu == "NVIDIA H200"
    assert [(one.kernel, one.grid, one.block) for one in report.launches] == [
        ("fill", (4096, 1, 1), (256, 1, 1)),
        ("sum", (20, 3, 1), (128, 1, 1)),
    ]
    for ours, theirs in zip(report.launches, table.launches, strict=True):
        assert (ours.kernel, ours.grid, ours.block) == (theirs.kernel, theirs.grid, theirs.block)
        assert ours.metrics.keys() == theirs.metrics.keys()
        for name, metric in ours.metrics.items():
            assert metric.unit == theirs.metrics[name].unit
            assert metric.value == pytest.approx(theirs.metrics[name].value, abs=0.0051, rel=1e-6)  # printed so


def test_a_value_that_is_missing_is_left_out(module: Path, tmp_path: Path) -> None:
    launches = json.loads((DATA / "two_kernels.json").read_text())
    for nothing in (None, float("nan")):
        launches[0]["metrics"]["l2"] = [nothing, "%"]
        launches[0]["metrics"]["dram__bytes_read.sum"] = [nothing, "byte"]
        (tmp_path / "r").write_text(json.dumps(launches))
        first, second = read_ncu_report(module, tmp_path / "r").launches
        assert "dram_read_bytes" not in first.metrics
        assert "dram_read_bytes" in second.metrics


NO_DURATION = '[{"kernel": "k", "metrics": {}}]'


@pytest.mark.parametrize(
    ("content", "says"),
    [("[]", "holds no launches"), ("nonsense", "can't read"), (NO_DURATION, "no metric duration_us")],
)
def test_what_can_not_be_read_is_said(module: Path, tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "r").write_text(content)
    with pytest.raises(UnreadableReport, match=says):
        read_ncu_report(module, tmp_path / "r", wanted=("duration_us",))


def test_the_module_lies_beside_ncu_or_in_the_newest_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for version in ("2024.3.2", "2025.10.0", "2025.3.1"):
        folder = tmp_path / f"nsight-compute-{version}" / "extras" / "python"
        folder.mkdir(parents=True)
        (folder / "ncu_report.py").touch()
    assert report_module(tmp_path / "bin" / "ncu") == tmp_path / "nsight-compute-2025.10.0" / "extras" / "python"
    own = tmp_path / "nsight-compute-2024.3.2"
    assert report_module(own / "ncu") == own / "extras" / "python"
