"""A suite is one configuration; what has ended never runs again; failures count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals.bench import bench
from cudamaster.evals.report.data import gather, joined
from cudamaster.evals.suite import UnitResult, log_file, open_suite, read_results, run_id_of, suite_folder, write_result
from cudamaster.evals.table import gains, markdown, suite_score
from cudamaster.graph.errors import RunError
from cudamaster.graph.executor import Call, Died
from cudamaster.nodes.context import Options
from cudamaster.tools.result.summary import BestKernel, Figure, Summary

UNITS = [Unit(task=t, precision=p) for t in ("dot_product", "gelu") for p in Precision]


def ended(unit: Unit, gain: float | None) -> UnitResult:
    figure = Figure(value=gain, method="cost model", set="paper") if gain else None
    best = BestKernel(sha256="0" * 64, spec={}, round=1, attempt=0, strategy="vectorize") if gain else None
    summary = Summary(
        run=f"s.{unit.name}",
        unit=unit.name,
        task=unit.task,
        precision=unit.precision,
        device="cpu",
        model="offline",
        status="improved" if gain else "no_gain",
        estimated_speedup=figure,
        best=best,
    )
    return UnitResult(unit=unit, run=summary.run, status=summary.status, summary=summary)


class Scripted:
    """An executor that ends its first `n` units and then is stopped; it loses those in `dies`, as often as named."""

    def __init__(self, n: int, dies: Sequence[str] = ()) -> None:
        self.n = n
        self.dies = list(dies)
        self.seen: list[str] = []

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        for place, (_, (suite, unit, home)) in enumerate(calls[: self.n]):
            self.seen.append(unit.name)
            if unit.name in self.dies:
                self.dies.remove(unit.name)
                yield place, Died("its node was switched off")
                continue
            result = ended(unit, 2.0)
            write_result(suite, result, home)
            yield place, result

    def stop(self) -> None: ...


def test_a_finished_unit_never_runs_again(tmp_path: Path) -> None:
    suite = open_suite("s", UNITS, Options(), tmp_path)
    first, second = Scripted(3), Scripted(9)
    bench([suite], first, tmp_path)
    assert len(read_results(suite, tmp_path)) == 3
    again = open_suite("s", list(reversed(UNITS)), Options(), tmp_path)
    bench([again], second, tmp_path)
    assert len(read_results(again, tmp_path)) == 4
    assert sorted(first.seen + second.seen) == sorted(u.name for u in UNITS)


def test_a_unit_whose_process_died_is_tried_once_more_and_the_others_once(tmp_path: Path) -> None:
    suite = open_suite("s", UNITS, Options(), tmp_path)
    lost, dead = UNITS[0].name, UNITS[1].name
    executor = Scripted(9, [lost, dead, dead])
    told: list[tuple[str, str]] = []
    bench([suite], executor, tmp_path, lambda suite, unit, result: told.append((unit.name, result.status)))
    assert executor.seen == [u.name for u in UNITS] + [lost, dead]
    assert sorted(told) == sorted((u.name, "failed" if u.name == dead else "improved") for u in UNITS)
    assert "died 2 times, at last because its node was switched off" in read_results(suite, tmp_path)[UNITS[1]].error


def test_two_configurations_do_not_mix(tmp_path: Path) -> None:
    open_suite("s", UNITS, Options(), tmp_path)
    with pytest.raises(RunError, match="other units or options"):
        open_suite("s", UNITS, Options(rounds=7), tmp_path)
    with pytest.raises(RunError, match="other units or options"):
        open_suite("s", UNITS[:2], Options(), tmp_path)


@pytest.mark.parametrize("bad", ["", "UP", "a/b", "x" * 25])
def test_bad_suite_ids_are_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(RunError):
        open_suite(bad, UNITS, Options(), tmp_path)


def test_a_damaged_result_counts_as_none(tmp_path: Path) -> None:
    suite = open_suite("s", UNITS, Options(), tmp_path)
    write_result(suite, ended(UNITS[0], 2.0), tmp_path)
    (suite_folder("s", tmp_path) / "units" / f"{UNITS[1].name}.json").write_text('{"unit": ')
    assert list(read_results(suite, tmp_path)) == [UNITS[0]]


def test_failures_and_missing_units_count_as_failures(tmp_path: Path) -> None:
    suite = open_suite("s", UNITS, Options(), tmp_path)
    crashed = UnitResult(unit=UNITS[1], run="s.x", status="failed", error="it died")
    results = {UNITS[0]: ended(UNITS[0], 4.0), UNITS[1]: crashed, UNITS[2]: ended(UNITS[2], None)}
    assert gains(suite, results) == [4.0, None, 1.0, None]
    score = suite_score(suite, results)
    assert (score.units, score.solved, score.faster) == (4, 2, 0.25)
    assert score.geomean_all == pytest.approx(2**0.5)
    text = markdown(suite, results)
    assert "failed: it died" in text
    assert "not run" in text
    assert "estimated speedup" in text


def test_folders_of_ones_own_are_units_too(tmp_path: Path) -> None:
    unit = Unit(task=str(tmp_path / "My Kernel"), precision=Precision.FP32)
    suite = open_suite("s", [unit], Options(), tmp_path)
    assert run_id_of(suite, unit) == "s.my-kernel-fp32"
    assert log_file(suite, unit, tmp_path) == tmp_path / "suites/s/logs/My Kernel-fp32.log"
    too_long = Unit(task=str(tmp_path / ("k" * 60)), precision=Precision.FP32)
    with pytest.raises(RunError, match="at most 64"):
        open_suite("t", [too_long], Options(), tmp_path)
    alike = Unit(task=str(tmp_path / "my-kernel"), precision=Precision.FP32)
    with pytest.raises(RunError, match=r"two of the units would be run 't\.my-kernel-fp32'"):
        open_suite("t", [unit, alike], Options(), tmp_path)
    assert not (tmp_path / "suites/t").exists()


def test_suites_of_the_same_options_join(tmp_path: Path) -> None:
    for name, part in (("one", UNITS[:2]), ("two", UNITS[2:3])):
        suite = open_suite(name, part, Options(), tmp_path)
        for unit in part:
            write_result(suite, ended(unit, 2.0 if name == "one" else 3.0), tmp_path)
    data = joined([gather(name, tmp_path) for name in ("one", "two")])
    assert (data.suite.id, data.suite.units) == ("one", tuple(UNITS[:3]))
    assert [row.unit for row in data.results] == list(UNITS[:3])
    assert gains(data.suite, {row.unit: row for row in data.results}) == [2.0, 2.0, 3.0]
    other = open_suite("other", UNITS[3:], Options(rounds=9), tmp_path)
    with pytest.raises(RunError, match="different options"):
        joined([data, gather(other.id, tmp_path)])
    with pytest.raises(RunError, match="share units"):
        joined([data, data])
