from __future__ import annotations

from typing import Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.tools.device.gpu_model import gpu_model
from cudamaster.tools.profile.ncu_csv import parse_ncu_csv
from cudamaster.tools.profile.roofline import Floor, efficiency, floor, near_floor, roofline

M = 1 << 20
H200 = gpu_model("H200")


def floor_of(task: Any, precision: Precision = Precision.FP32, **options: Any) -> Floor:
    return floor(task, precision, task.cases[0], H200, **options)


def test_writes_count_only_beyond_the_l2(calls: Any) -> None:
    within = floor_of(calls.task(n=1, reads=M, writes=8 * M))
    assert within.memory_us == pytest.approx(4 * M / 4.8e6)
    beyond = floor_of(calls.task(n=1, reads=M, writes=64 * M))
    assert beyond.memory_us == pytest.approx((4 * M + 256 * M - 60 * M) / 4.8e6)


def test_a_small_call_is_limited_by_its_launch(calls: Any) -> None:
    small = floor_of(calls.task(n=1, reads=1024, writes=1024))
    assert (small.limiter, small.time_us) == ("launch", H200.empty_launch_us)


def test_products_may_use_tensor_cores_as_the_rounding_model_allows(calls: Any) -> None:
    task = calls.task(n=1, reads=8 * M, writes=4 * M, flops=2 * 2048**3, tensor_cores=True)
    flops = 2 * 2048**3
    assert floor_of(task, Precision.BF16).compute_us == pytest.approx(flops / 989e6)
    assert floor_of(task).compute_us == pytest.approx(flops / (494e6 / 3))
    assert floor_of(task, tensor_cores=False).compute_us == pytest.approx(flops / 66.9e6)
    assert floor_of(task).limiter == "compute"


def test_nothing_proven_leaves_the_launch(calls: Any) -> None:
    bare = floor_of(calls.task(n=1, reads=0, writes=0))
    assert bare.work_us == 0
    assert bare.time_us == H200.empty_launch_us


def test_efficiency_and_the_stop_rule() -> None:
    bound = Floor(compute_us=0, memory_us=100, launch_us=2.7)
    assert efficiency(125, bound) == pytest.approx(0.8)
    assert near_floor(114.9, bound)
    assert not near_floor(115.1, bound)
    assert near_floor(150, bound, within_pct=50)


@pytest.mark.parametrize(
    ("name", "limiter"),
    [("copy_256mb", "memory"), ("fma_loop", "compute"), ("pointer_chase", "latency"), ("dot_atomic_64k", "latency")],
)
def test_real_kernels_lie_where_they_should(sample: Any, name: str, limiter: str) -> None:
    (roof,) = roofline(parse_ncu_csv(sample(name)), H200)
    assert roof.limiter == limiter


def test_the_copy_reaches_its_measured_bandwidth(sample: Any) -> None:
    (roof,) = roofline(parse_ncu_csv(sample("copy_256mb")), H200)
    assert roof.dram_gbps == pytest.approx(4154, rel=0.01)  # what Nsight Compute itself says
    assert roof.dram_pct == pytest.approx(86.5, abs=0.5)
    (calibrated,) = roofline(parse_ncu_csv(sample("copy_256mb")), H200.model_copy(update={"dram_gbps": 4300.0}))
    assert calibrated.dram_pct == pytest.approx(96.6, abs=0.5)


def test_absent_counters_are_unknown_not_zero(calls: Any) -> None:
    (roof,) = roofline(calls.profile(calls.launch(duration_us=5.0)), H200)
    assert (roof.limiter, roof.dram_gbps, roof.gflops) == ("unknown", None, None)
    assert roofline(calls.profile(calls.launch(sm_throughput_pct=5.0)), H200) == ()


def test_a_diagnosis_says_where_the_time_goes(calls: Any, sample: Any) -> None:
    shares = {"dram_read_bytes": 4.8e6, "dram_write_bytes": 0.0, "fma_pipe_pct": 10.0, "tensor_pipe_pct": 0.0}
    busy = {"sm_throughput_pct": 40.0, "memory_throughput_pct": 40.0, "dram_throughput_pct": 40.0}
    long = calls.launch("long", duration_us=10.0, **shares, **busy)
    short = calls.launch("short", duration_us=1.0, **shares, **busy)
    told = calls.diagnose(calls.profile(long, short, long)).whereabouts
    assert told[0].startswith("At N=1048576 uniform the call takes about 24.")
    assert "floor is 2.7 us (launch)" in told[0]
    assert told[1] == "`long`: 20 us in 2 launches, device memory 10 % of peak, arithmetic 10 % of peak"
    assert told[2].startswith("`short`: 1 us in 1 launch, device memory 100 %")
    estimate = calls.profile(long, device="cpu")
    assert "takes an estimated 12.7 us" in calls.diagnose(estimate).whereabouts[0]


def test_without_times_nobody_knows_where_they_go(calls: Any) -> None:
    untimed = calls.launch(sm_throughput_pct=40.0, memory_throughput_pct=40.0, dram_throughput_pct=40.0)
    assert calls.diagnose(calls.profile(untimed)).whereabouts == ()
