from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cudamaster.evals import baselines as module
from cudamaster.evals.baselines import Baseline, main, page
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.records import Bottleneck, Diagnosis, Finding

SAMPLES = Path(__file__).parents[1] / "data" / "ncu"


def recorded(unit: str, name: str, bottleneck: Bottleneck, finding: str) -> Baseline:
    found = Finding(name=finding, sentence="It is slow.", evidence="seen", bound=2.0)
    return Baseline(
        unit=unit,
        case="N=1",
        profile=parse_ncu_csv((SAMPLES / f"{name}.csv").read_text(), case="N=1"),
        diagnosis=Diagnosis(bottleneck=bottleneck, findings=(found,)),
    )


ROWS = [
    recorded("copy-fp32", "copy_256mb", Bottleneck.BANDWIDTH, "near_floor"),
    recorded("chase-fp32", "pointer_chase", Bottleneck.LATENCY, "stall_mix"),
    recorded("fma-fp32", "fma_loop", Bottleneck.COMPUTE, "near_floor"),
]


def test_the_page_counts_classes_and_findings() -> None:
    text = page(ROWS)
    assert "measured on one NVIDIA H200" in text
    for bottleneck in Bottleneck:
        assert f"| {bottleneck.value} | 1 |" in text
    assert "| near_floor | 2 | 2 |" in text
    assert "| copy-fp32 | N=1 | 123.4 | memory_bandwidth_bound | near_floor | 2× | It is slow. |" in text


def test_nothing_measured_is_an_error_not_an_empty_page() -> None:
    with pytest.raises(ValueError, match="no baselines"):
        page([])


def test_units_in_the_data_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def measure(tasks: Any, device: str, known: Any) -> Any:
        asked.append(list(known))
        yield ROWS[len(asked) - 1]

    monkeypatch.setattr(module, "measure", measure)
    data, out = tmp_path / "data.json", tmp_path / "page.md"
    main([str(data), str(out)])
    main([str(data), str(out)])
    assert asked == [[], ["copy-fp32"]]
    before = out.read_text()
    assert "2 baselines" in before
    main([str(data), str(out), "--no-measure"])
    assert out.read_text() == before
    assert len(asked) == 2
