"""Nothing stays behind after a hang or an illegal access, and every fault is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import CaseSet, Task
from cudamaster.tools.device.cuda.device import CudaDevice, case_arrays
from cudamaster.tools.device.port import CallResult
from cudamaster.tools.device.runner.client import Limits, RunnerProcess
from cudamaster.tools.records import Build

from .conftest import kernel

pytestmark = pytest.mark.gpu
SPIN = "long long t = clock64(); while (clock64() - t < 1000000) ; *r = 1;"
SIDE = (
    "static cudaStream_t q; if (!q) cudaStreamCreateWithFlags(&q, cudaStreamNonBlocking); k<<<1, 1, 0, q>>>(result, 0);"
)


def call(device: CudaDevice, dot: Task, build: Build) -> tuple[CallResult, int]:
    """Call once at the first paper case; return the result and the process id, which is gone by then."""
    case = dot.in_set(CaseSet.PAPER)[0]
    runner = RunnerProcess(
        device.host_program, Path(build.library), dot, Precision.FP32, environment=device.environment,
        limits=Limits(call_s=3),
    )  # fmt: skip
    with runner:
        runner.load_case(case, case_arrays(dot, Precision.FP32, case, 1))
        return runner.call(), runner.pid


def free_bytes(device: CudaDevice, dot: Task, build: Build) -> int:
    with device.open(build, dot, Precision.FP32) as runner:
        return runner.usage()["device_free_bytes"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ("while (atomicAdd(r, 0.f) >= -1e30f || true) ;", "timeout", "no answer within"),
        ("*(float*)8 = 1;", "crash", "illegal memory access"),
        ("__trap();", "crash", "the device failed during the call"),
    ],
)
def test_nothing_stays_after_a_fatal_fault(
    device: CudaDevice, dot: Task, built: Callable[[str], Build], body: str, status: str, says: str
) -> None:
    good = built(dot.source(Precision.FP32))
    before = free_bytes(device, dot, good)
    result, pid = call(device, dot, built(kernel(body)))
    assert result.status == status
    assert says in result.message
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert abs(free_bytes(device, dot, good) - before) < 64 << 20
    assert call(device, dot, good)[0].status == "ok"


def test_a_launch_that_fails_in_silence_is_found(device: CudaDevice, dot: Task, built: Callable[[str], Build]) -> None:
    source = kernel(
        "extern __shared__ float q[]; *r = q[0];", "k<<<1, 1, 1 << 20, s>>>(result, 0); return cudaSuccess;"
    )
    result, _ = call(device, dot, built(source))
    assert result.status == "launch_error"
    assert "did not say so" in result.message


def test_a_write_past_the_end_is_damage(device: CudaDevice, dot: Task, built: Callable[[str], Build]) -> None:
    result, _ = call(device, dot, built(kernel("r[threadIdx.x] = 1;", "k<<<1, 33, 0, s>>>(result, 0);")))
    assert any("memory after 'result'" in said for said in result.damage)


@pytest.mark.parametrize("launch", [SIDE, "k<<<1, 1>>>(result, 0);"])
def test_long_work_on_another_stream_is_damage(
    device: CudaDevice, dot: Task, built: Callable[[str], Build], launch: str
) -> None:
    result, _ = call(device, dot, built(kernel(SPIN, launch)))
    assert any("after the given stream was done" in said for said in result.damage)


@pytest.mark.parametrize("launch", [SIDE, "k<<<1, 1>>>(result, 0);"])
def test_short_work_on_another_stream_is_wiped_out(
    device: CudaDevice, dot: Task, built: Callable[[str], Build], launch: str
) -> None:
    case = dot.in_set(CaseSet.PAPER)[0]
    with device.open(built(kernel("*r = 1;", launch)), dot, Precision.FP32) as runner:
        runner.load_case(case, case_arrays(dot, Precision.FP32, case, 1))
        runner.call()  # the first launch may take longer than the pause
        assert runner.call().unwritten == {"result": 1}
