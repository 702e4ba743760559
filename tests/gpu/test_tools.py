"""Verification, timing, profile, sanitizer and calibration on a real GPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet, Task
from cudamaster.tools.device.cuda.device import CudaDevice
from cudamaster.tools.device.port import Unsupported
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Build, Candidate, Status

from .conftest import kernel

pytestmark = pytest.mark.gpu
TASKS = ("dot_product", "gelu", "softmax", "matrix_mul", "spmv_csr", "stencil_2d")
UNITS = [(name, precision) for name in TASKS for precision in Precision]
_BIG = 300 << 20


def light(task: Task, precision: Precision, case: object) -> bool:
    return sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.arrays) < _BIG  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "precision"), UNITS)
def test_baselines_are_right(device: CudaDevice, name: str, precision: Precision) -> None:
    task = load_task(name)
    build = device.build(Candidate(source=task.source(precision)), task, precision)
    cases = [case for case in device.checked_cases(task) if light(task, precision, case)]
    verdict = verify(build, task, precision, device, cases=cases)
    assert verdict.status is Status.PASS, verdict.detail


def test_a_library_against_itself_is_as_quick(device: CudaDevice) -> None:
    covered = []
    for name, precision in UNITS:
        task = load_task(name)
        build = device.build(Candidate(source=task.source(precision)), task, precision)
        cases = [case for case in device.timed_cases(task) if light(task, precision, case)]
        found = device.compare(build, build, task, precision, cases)
        assert found.geomean.value <= 1.03, f"{name}-{precision}: {found.geomean}"
        assert not [note for note in found.notes if note.startswith("suspect")]
        covered.append(found.geomean.low <= 1 <= found.geomean.high)
    assert sum(covered) >= len(UNITS) - 1


def test_a_profile_has_a_duration_and_traffic(device: CudaDevice, dot: Task, built: Callable[[str], Build]) -> None:
    case = dot.in_set(CaseSet.PAPER)[-1]
    try:
        profile = device.profile(built(dot.source(Precision.FP32)), dot, Precision.FP32, case)
    except Unsupported as error:
        pytest.skip(str(error))
    launch = max(profile.launches, key=lambda one: one.metrics["duration_us"].value)
    assert 1 < launch.metrics["duration_us"].value < 1e6
    assert launch.metrics["dram_read_bytes"].value >= case.sizes["N"] * 4


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (kernel("r[threadIdx.x] = 1;", "k<<<1, 33, 0, s>>>(result, 0);"), "memcheck"),
        (kernel("*r = w[threadIdx.x];"), "initcheck"),
        (
            kernel(
                "__shared__ float q[64]; q[threadIdx.x] = threadIdx.x; *(volatile float*)(q + 63 - threadIdx.x) += 1;"
                " __syncthreads(); if (!threadIdx.x) *r = q[3];",
                "k<<<1, 64, 0, s>>>(result, 0);",
            ),
            "racecheck",
        ),
        (
            kernel("if (threadIdx.x < 40) __syncthreads(); *r = 1;", "k<<<1, 64, 0, s>>>(result, 0);"),
            "synccheck",
        ),
    ],
)
def test_the_sanitizer_finds_what_it_is_for(
    device: CudaDevice, dot: Task, built: Callable[[str], Build], source: str, says: str
) -> None:
    try:
        found = device.sanitize(built(source), dot, Precision.FP32, dot.in_set(CaseSet.SMALL)[3:4])
    except Unsupported as error:
        pytest.skip(str(error))
    assert any(one.reason.startswith(says) for one in found)


def test_the_sanitizer_passes_the_baseline(device: CudaDevice, dot: Task, built: Callable[[str], Build]) -> None:
    try:
        found = device.sanitize(built(dot.source(Precision.FP32)), dot, Precision.FP32, dot.in_set(CaseSet.SMALL)[3:4])
    except Unsupported as error:
        pytest.skip(str(error))
    assert found == ()


def test_calibration_is_near_the_datasheet(device: CudaDevice) -> None:
    sheet = device.gpu
    measured = device.calibrate()
    assert 0.5 * sheet.dram_gbps < measured["dram_gbps"] < 1.1 * sheet.dram_gbps
    assert 0.5 * sheet.fp32_tflops < measured["fp32_tflops"] < 1.2 * sheet.fp32_tflops
    assert 1 < measured["empty_launch_us"] < 20
