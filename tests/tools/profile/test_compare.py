from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cudamaster.tools.profile.compare import compare
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.records import Profile

REPORT = parse_ncu_csv((Path(__file__).parents[2] / "data" / "planted" / "h200.csv").read_text())


def profile_of(kernel: str) -> Profile:
    return REPORT.model_copy(update={"launches": tuple(x for x in REPORT.launches if x.kernel == kernel)})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dot", "atomic"),
        ("transpose", "sectors with its stores"),
        ("tile", "passes through shared memory"),
        ("spill", "spills"),
        ("narrow", "load instructions"),
        ("horner", "double-precision pipe"),
        ("chain", "1 launch instead of 3"),
        ("tensor", "tensor cores"),
        ("diverge", "threads active per instruction"),
        ("prefix", "fewer instructions"),
    ],
)
def test_real_pairs_are_explained_by_what_was_repaired(name: str, said: str) -> None:
    found = compare(profile_of(f"{name}_fault"), profile_of(f"{name}_twin"))
    assert found.speedup is not None
    assert found.speedup > 1.5
    assert any(said in reason for reason in found.reasons), found.reasons
    assert all(reason.startswith("The second") for reason in found.reasons)


def test_the_other_way_round_the_first_is_praised_for_the_same() -> None:
    one = compare(profile_of("spill_fault"), profile_of("spill_twin"))
    other = compare(profile_of("spill_twin"), profile_of("spill_fault"))
    assert other.speedup == pytest.approx(1 / one.speedup)  # type: ignore[operator]
    assert [r.replace("The first", "The second") for r in other.reasons] == list(one.reasons)


def test_small_moves_are_left_out(calls: Any) -> None:
    a = calls.profile(calls.launch(duration_us=10.0, instructions=100.0, threads=64.0))
    b = calls.profile(calls.launch(duration_us=5.0, instructions=105.0, threads=64.0))
    assert [change.name for change in compare(a, b).changes] == ["duration_us"]


def test_equal_times_are_called_equal(calls: Any) -> None:
    a = calls.profile(calls.launch(duration_us=10.0, instructions=1000.0))
    b = calls.profile(calls.launch(duration_us=9.9, instructions=10.0))
    assert compare(a, b).reasons == ("Both take the same time (ratio 1.010).",)


def test_cured_findings_are_named_first(calls: Any) -> None:
    source = "__global__ void k(float* y) { y[threadIdx.x] = 0; }"
    fault, twin = profile_of("diverge_fault"), profile_of("diverge_twin")
    diagnoses = calls.diagnose(fault, source=source), calls.diagnose(twin, source=source)
    first = compare(fault, twin, diagnoses=diagnoses).reasons[0]
    assert first.startswith("The second is rid of ")


def test_profiles_of_different_devices_or_cases_do_not_compare(calls: Any) -> None:
    launch = calls.launch(duration_us=1.0)
    gpu, cpu = calls.profile(launch), calls.profile(launch, device="cpu")
    with pytest.raises(ValueError, match="don't compare"):
        compare(gpu, cpu)
    with pytest.raises(ValueError, match="N=2"):
        compare(gpu, gpu.model_copy(update={"case": "N=2"}))
