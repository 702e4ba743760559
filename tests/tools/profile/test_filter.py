from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.tools.profile.filter import KEPT, MissingMetrics, classify, filtered
from cudamaster.tools.profile.metrics import METRICS, metric
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.profile.text import profile_text
from cudamaster.tools.records import Bottleneck, LaunchProfile, Profile

Sample = Callable[[str], str]
SAMPLES = Path(__file__).parents[2] / "data" / "ncu"


def call(*launches: dict[str, float]) -> Profile:
    return Profile(
        device="cuda",
        gpu="NVIDIA H200",
        case="N=1",
        launches=tuple(
            LaunchProfile(
                kernel="k", grid=(1, 1, 1), block=(32, 1, 1), metrics=dict(metric(k, v) for k, v in m.items())
            )
            for m in launches
        ),
    )


def throughputs(sm: float, dram: float, memory: float, us: float = 1.0) -> dict[str, float]:
    return {"sm_throughput_pct": sm, "dram_throughput_pct": dram, "memory_throughput_pct": memory, "duration_us": us}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("copy_256mb", Bottleneck.BANDWIDTH),
        ("fma_loop", Bottleneck.COMPUTE),
        ("dot_atomic_64k", Bottleneck.LATENCY),
        ("dot_atomic_16m_live", Bottleneck.LATENCY),
        ("pointer_chase", Bottleneck.LATENCY),
        ("naive_matmul_2048", Bottleneck.COMPUTE),
        ("transpose_bank_conflict", Bottleneck.BANDWIDTH),
    ],
)
def test_real_reports_fall_in_the_class_that_they_were_written_for(
    sample: Sample, name: str, expected: Bottleneck
) -> None:
    assert classify(parse_ncu_csv(sample(name))) is expected


def test_the_threshold_is_an_option(sample: Sample) -> None:
    chase = parse_ncu_csv(sample("pointer_chase"))
    assert classify(chase, threshold_pct=28.0) is Bottleneck.BANDWIDTH


@pytest.mark.parametrize(
    ("sm", "dram", "memory", "expected"),
    [
        (30.1, 90, 90, Bottleneck.COMPUTE),
        (30.0, 30.1, 0, Bottleneck.BANDWIDTH),
        (0, 0, 30.1, Bottleneck.BANDWIDTH),
        (30.0, 30.0, 30.0, Bottleneck.LATENCY),
        (0, 0, 0, Bottleneck.LATENCY),
    ],
)
def test_the_papers_rule(sm: float, dram: float, memory: float, expected: Bottleneck) -> None:
    assert classify(call(throughputs(sm, dram, memory))) is expected


def test_launches_are_weighted_by_their_time() -> None:
    short_busy, long_idle = throughputs(90, 5, 5, us=1), throughputs(2, 5, 5, us=99)
    assert classify(call(short_busy, long_idle)) is Bottleneck.LATENCY
    assert classify(call({**short_busy, "duration_us": 99}, {**long_idle, "duration_us": 1})) is Bottleneck.COMPUTE


@pytest.mark.parametrize("name", ["copy_256mb", "fma_loop", "pointer_chase"])
def test_the_four_metrics_of_the_class_pass_and_no_others(sample: Sample, name: str) -> None:
    profile = parse_ncu_csv(sample(name))
    assert tuple(filtered(profile)) == KEPT[classify(profile)]


def test_the_registry_marks_exactly_what_the_filter_uses() -> None:
    assert {spec.name for spec in METRICS if spec.filtered} == {name for names in KEPT.values() for name in names}


def test_a_profile_without_throughputs_is_refused_by_name() -> None:
    with pytest.raises(MissingMetrics, match="dram_throughput_pct"):
        classify(call({"sm_throughput_pct": 1, "memory_throughput_pct": 1}))
    with pytest.raises(MissingMetrics):
        classify(Profile(device="cpu", gpu="NVIDIA H200", case="", launches=()))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.csv")), ids=lambda p: p.stem)
def test_the_filtered_text_is_at_most_a_quarter_of_the_full(path: Path) -> None:
    profile = parse_ncu_csv(path.read_text())
    full, short = profile_text(profile, "full"), profile_text(profile, "filtered")
    assert 0 < len(short.split()) <= 0.25 * len(full.split())
    assert 0 < len(short) <= 0.25 * len(full)
    assert profile_text(profile, "none") == ""


def test_an_unknown_view_is_refused(sample: Sample) -> None:
    with pytest.raises(ValueError, match="none, filtered, full or diagnosis"):
        profile_text(parse_ncu_csv(sample("copy_256mb")), "everything")  # type: ignore[arg-type]
