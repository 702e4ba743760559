from __future__ import annotations

import pytest
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.profile.occupancy import occupancy


@pytest.mark.parametrize(
    ("gpu", "threads", "registers", "shared", "pct", "limiter"),
    [
        ("H200", 256, 32, 0, 100.0, "warps"),
        ("H200", 256, 255, 0, 12.5, "registers"),
        ("H200", 256, 128, 0, 25.0, "registers"),
        ("H200", 32, 32, 0, 50.0, "blocks"),
        ("H200", 64, 32, 100 * 1024, 6.25, "shared memory"),
        ("RTX 4090", 256, 32, 0, 100.0, "warps"),
        ("RTX 4090", 1024, 32, 0, 66.667, "warps"),
        ("A100", 1024, 64, 0, 50.0, "registers"),
    ],
)
def test_known_occupancies(gpu: str, threads: int, registers: int, shared: int, pct: float, limiter: str) -> None:
    place = occupancy(threads, registers, shared, gpu_model(gpu))
    assert place.pct == pytest.approx(pct, abs=0.01)
    assert place.limiter == limiter
    assert place.blocks_per_sm == place.limits[limiter] == min(place.limits.values())


@pytest.mark.parametrize(
    ("name", "limit_registers"),
    [("naive_matmul_2048", 8), ("dot_atomic_64k", 10), ("pointer_chase", 21), ("copy_256mb", 16)],
)
def test_register_limits_equal_what_nsight_compute_reports(sample, name: str, limit_registers: int) -> None:  # type: ignore[no-untyped-def]
    (launch,) = parse_ncu_csv(sample(name)).launches
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    registers = int(launch.metrics["registers_per_thread"].value)
    place = occupancy(threads, registers, 0, gpu_model("H200"))
    assert place.limits["registers"] == limit_registers
    assert place.pct == pytest.approx(launch.metrics["theoretical_occupancy_pct"].value)


def test_unknown_registers_limit_nothing() -> None:
    assert "registers" not in occupancy(256, 0, 0, gpu_model()).limits


def test_a_kernel_that_fits_nowhere_has_no_blocks() -> None:
    assert occupancy(256, 32, 300 * 1024, gpu_model()).blocks_per_sm == 0


@pytest.mark.parametrize("threads", [0, 1025])
def test_an_impossible_block_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match="1 to 1024"):
        occupancy(threads, 32, 0, gpu_model())
