"""Suites against each other: paired over units, with what chance alone would do."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from cudamaster.evals.report.command import write_report
from cudamaster.evals.report.data import write_data
from cudamaster.evals.significance import compare, sentence, sign_test

from .samples import suite_of
from .test_report import read


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (8, 0, 0.0078125), (9, 1, 0.021484375), (3, 3, 1.0)],
)
def test_the_sign_test_is_the_binomial_one(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == sign_test(worse, better) == pytest.approx(p)


def test_a_real_difference_is_found_and_its_size_is_in_the_interval() -> None:
    dice = random.Random(1)
    before = {f"u{n}": 2 ** dice.uniform(0, 5) for n in range(60)}
    after = {unit: gain * 1.2 * 2 ** dice.gauss(0, 0.1) for unit, gain in before.items()}
    found = compare("a", before, "b", after)
    assert found.significant
    assert found.ratio.low < 1.2 < found.ratio.high
    assert found.better > 50
    assert "b is 1." in sentence(found)
    assert "significantly so" in sentence(found)


def test_no_difference_is_rarely_called_one() -> None:
    dice = random.Random(2)
    called = 0
    for _ in range(60):
        before = {f"u{n}": 2.0 for n in range(30)}
        after = {unit: gain * 2 ** dice.gauss(0, 0.3) for unit, gain in before.items()}
        called += compare("a", before, "b", after).significant
    assert called <= 6


def test_failures_count_as_the_baseline_and_units_are_paired() -> None:
    found = compare("a", {"x": 4.0, "y": None, "z": 1.0}, "b", {"y": 2.0, "x": None, "w": 9.0})
    assert dict(found.ratios) == {"x": 0.25, "y": 2.0}
    assert found.ratio.value == pytest.approx(math.sqrt(0.5))
    assert (found.better, found.worse, found.ties) == (1, 1, 0)
    assert "not significantly so" in sentence(found)
    with pytest.raises(ValueError, match="no unit in common"):
        compare("a", {"x": 1.0}, "b", {"y": 1.0})


def test_two_suites_as_a_page_and_as_markdown(tmp_path: Path) -> None:
    for name, factor in (("old", 1.0), ("new", 1.5)):
        write_data(suite_of(30, id=name, factor=factor), tmp_path / f"{name}.json")
    what = [str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    for kind in ("html", "md"):
        write_report(what, out=tmp_path / f"c.{kind}", data=None, title="", home=tmp_path)
    text = read((tmp_path / "c.html").read_text()).text
    for words in ("new is 1.4", "significantly so", "new against old", "sign test p = "):
        assert words in text
    assert "estimate" not in text
    assert "- new is 1.4" in (tmp_path / "c.md").read_text()


def test_an_estimate_beside_a_measurement_is_said_to_be_of_another_kind(tmp_path: Path) -> None:
    write_data(suite_of(10, id="gpu"), tmp_path / "gpu.json")
    write_data(suite_of(10, id="cpu", measured=False), tmp_path / "cpu.json")
    what = [str(tmp_path / "gpu.json"), str(tmp_path / "cpu.json")]
    write_report(what, out=tmp_path / "c.html", data=None, title="", home=tmp_path)
    assert "their gains are of different kinds" in read((tmp_path / "c.html").read_text()).text
