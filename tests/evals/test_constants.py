"""The page of constants says what its data say."""

from __future__ import annotations

from pathlib import Path

from cudamaster.evals.constants import Constants, page

RESULTS = Path(__file__).parents[2] / "docs/results"


def test_shares_are_of_the_first_version_and_the_best_may_differ_by_size() -> None:
    row = Constants(
        unit="u-fp32", versions=({"rows": 8}, {"rows": 4}, {"rows": 2}), cases=("a", "b"),
        times_us=((10.0, 10.0), (5.0, 20.0), None), where="a GPU",
    )  # fmt: skip
    assert row.shares == [1.0, 1.0, None]
    assert round(row.by_size, 3) == 0.707
    assert "| u-fp32 | rows | 8: 1.000, 4: 1.000 | 1.000 | 0.707 |" in page([row, Constants(unit="none")])


def test_the_published_page_is_made_from_its_data() -> None:
    lines = (RESULTS / "constants_h200.jsonl").read_text().splitlines()
    rows = [Constants.model_validate_json(line) for line in lines]
    assert page(rows) == (RESULTS / "constants_h200.md").read_text()
