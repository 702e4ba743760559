"""The screening of the offline model: what its rows say, and what its page makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.evals.offline_page import page
from cudamaster.evals.offline_screen import Screened, ScreenedCase, _timed, read_screened


def row(unit: str, status: str = "pass", speedup: float = 2.0) -> Screened:
    case = ScreenedCase(case="N=1", complexity=1, baseline_us=10.0 * speedup, candidate_us=10.0, floor_us=4.0)
    return Screened(
        unit=unit,
        rules=("vectorize",),
        status=status,
        cases=(case, case),
        where="some GPU, driver 1, CUDA 13.0; 2026-01-02",
    )


def test_only_what_is_right_has_a_speedup() -> None:
    assert row("relu-fp32").speedup == pytest.approx(2.0)
    assert row("relu-fp32").efficiency == pytest.approx(0.4)
    assert row("relu-fp32", "wrong").speedup is None


def test_the_last_row_of_a_unit_counts(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    assert read_screened(data) == {}
    rows = [row("relu-fp32", "failed"), row("elu-fp32"), row("relu-fp32")]
    data.write_text("".join(r.model_dump_json() + "\n" for r in rows))
    assert read_screened(data) == {"relu-fp32": rows[2], "elu-fp32": rows[1]}


def test_the_page_counts_failures_and_says_how_many_ran() -> None:
    text = page([row("relu-fp32"), row("elu-fp32", speedup=1.05), row("gelu-bf16", "wrong"), row("blend-fp32")])
    assert "screened: 3 of 100 units; right: 2" in text
    assert "some GPU, driver 1, CUDA 13.0; 2026-01-02. Every rule" in text
    assert "faster than 1.1x: 1\n" in text
    assert "not right: gelu-bf16 (wrong" in text
    assert "screened: 1 of 1 units; right: 1" in text


def test_timed_sizes_are_spread_from_the_smallest_to_the_largest_that_fits() -> None:
    task = load_task("relu")
    sizes = [case.sizes["N"] for case in _timed(task, Precision.FP32)]
    assert sizes == sorted(set(sizes))
    assert (sizes[0], sizes[-1]) == (2**10, 2**18)
