"""The device through its port: build, run, faults, estimate, profile, sanitize."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import Case, CaseSet
from cudamaster.tools.device.cpu import build as cpu_build
from cudamaster.tools.device.cpu.counters import Counters, LaunchCounters, with_registers
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.cpu.runner import CpuRunner
from cudamaster.tools.device.limited import STARVED
from cudamaster.tools.device.port import CallResult
from cudamaster.tools.records import Build, Candidate, Resources

from .conftest import Host

pytestmark = [pytest.mark.xdist_group("cpu"), pytest.mark.timeout(600)]

TASK = load_task("dot_product")
CASE = Case(set=CaseSet.SMALL, sizes={"N": 1000})
ENTRY = """
extern "C" size_t dot_product_workspace_bytes(int N) { return 0; }
extern "C" cudaError_t dot_product(float* result, const float* x, const float* y, int N, void* workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
    dot<<<4, 64, 0, stream>>>(result, x, y, N);
    return cudaGetLastError();
}
"""
KERNEL = """#include <cuda_runtime.h>
__global__ void dot(float* result, const float* x, const float* y, int n) {
"""


@pytest.fixture(scope="module")
def device(host: Host) -> CpuDevice:
    return CpuDevice(use_nvcc=False, root=host.root)


def build(device: CpuDevice, body: str) -> Build:
    return device.build(Candidate(source=KERNEL + body + "}\n" + ENTRY), TASK, Precision.FP32)


def call(device: CpuDevice, built: Build) -> CallResult:
    assert built.ok, built.log
    rng = np.random.default_rng(0)
    arrays = {name: rng.uniform(-1, 1, 1000).astype(np.float32) for name in ("x", "y")}
    with device.open(built, TASK, Precision.FP32) as runner:
        runner.load_case(CASE, arrays)
        return runner.call()


@pytest.fixture(scope="module")
def baseline(device: CpuDevice) -> Build:
    built = device.build(Candidate(source=TASK.source(Precision.FP32)), TASK, Precision.FP32)
    assert built.ok, built.log
    return built


def test_info_says_what_stands_for_the_gpu(device: CpuDevice) -> None:
    info = device.info()
    assert (info.name, info.gpu, info.arch) == ("cpu", "NVIDIA H200", "sm_90")
    assert any("not checked with nvcc" in note for note in info.notes)


def test_baseline_runs_and_is_right(device: CpuDevice, baseline: Build) -> None:
    assert not baseline.checked_with_nvcc
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(-1, 1, 1000).astype(np.float32) for _ in range(2))
    result = call(device, baseline)
    assert result.status == "ok"
    assert result.damage == ()
    assert result.outputs["result"] == pytest.approx(x.astype(np.float64) @ y, abs=1e-4)


def test_a_null_pointer_is_a_crash_with_its_line(device: CpuDevice) -> None:
    result = call(device, build(device, "    float* p = nullptr;\n    p[n] = x[0];\n"))
    assert result.status == "crash"
    assert "an illegal memory access" in result.message
    assert "kernel dot (launched at line 10), block (0,0,0), thread (0,0,0)" in result.message
    assert "line 4" in result.message


def test_far_out_of_bounds_is_a_crash(device: CpuDevice) -> None:
    result = call(device, build(device, "    result[0] = x[(1 << 20) + threadIdx.x];\n"))
    assert result.status == "crash"
    assert "past the end of a buffer" in result.message


def test_divergent_barrier_is_damage(device: CpuDevice) -> None:
    body = "    if (threadIdx.x < 32) __syncthreads();\n    else { __syncthreads(); }\n    result[0] = 0.0f;\n"
    result = call(device, build(device, body))
    assert result.status == "ok"
    assert any("divergent_barrier" in sentence and "lines 3 and 4" in sentence for sentence in result.damage)


def test_endless_recursion_or_big_arrays_overflow_the_stack_cleanly(device: CpuDevice) -> None:
    body = "    volatile float a[100000];\n    for (int i = 0; i < 100000; ++i) a[i] = x[0];\n    result[0] = a[n];\n"
    result = call(device, build(device, body))
    assert result.status == "crash"
    assert "local arrays" in result.message


@pytest.mark.parametrize(
    ("body", "failure", "words"),
    [
        ("    result[0] = undeclared;\n", "source", "candidate.cu:3"),
        ("    result[0] = x[0]\n", "source", "candidate.cu:3"),
        ('    asm("bar.sync 0;");\n', "unsupported", "candidate.cu:3: the cpu device can't run inline PTX"),
        ("    __viaddmax_s32(1, 2, 3);\n", "unsupported", "no fault of the source"),
    ],
)
def test_failures_say_whose_fault(device: CpuDevice, body: str, failure: str, words: str) -> None:
    built = build(device, body)
    assert not built.ok
    assert built.failure == failure
    assert words in built.log


def test_estimate_prefers_one_atomic_per_block(device: CpuDevice, baseline: Build) -> None:
    better = build(
        device,
        """    __shared__ float part[2];
    float sum = 0.0f;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) sum += x[i] * y[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(result, part[0] + part[1]);
""",
    )
    assert better.ok, better.log
    gain = device.compare(baseline, better, TASK, Precision.FP32, [Case(set=CaseSet.SMALL, sizes={"N": 20000})])
    assert gain.kind == "estimated"
    assert gain.geomean > 1.2
    assert gain.cases[0].baseline_us / gain.cases[0].candidate_us == pytest.approx(gain.geomean)
    same = device.compare(baseline, baseline, TASK, Precision.FP32, [CASE])
    assert same.geomean == pytest.approx(1.0)


def test_profile_has_counted_and_modelled_metrics(device: CpuDevice, baseline: Build) -> None:
    profile = device.profile(baseline, TASK, Precision.FP32, Case(set=CaseSet.SMALL, sizes={"N": 65536}))
    assert profile.device == "cpu"
    [launch] = profile.launches
    assert launch.kernel == "dot_product_kernel"
    assert "dot_product_kernel" in TASK.source(Precision.FP32).split("\n")[(launch.line or 0) - 1]
    value = {name: m.value for name, m in launch.metrics.items()}
    assert value["global_load_requests"] == 4096
    assert value["global_load_sectors"] == 16384
    assert value["same_address_atomics"] == value["threads"] == value["atomics"]
    assert launch.metrics["global_load_sectors"].source == "measured"
    assert launch.metrics["duration_us"].source == "modelled"
    assert value["duration_us"] > 0.00177 * value["threads"]


def test_sanitize_finds_a_race_and_nothing_in_the_baseline(device: CpuDevice, baseline: Build) -> None:
    assert device.sanitize(baseline, TASK, Precision.FP32, [CASE]) == ()
    broken = build(
        device,
        """    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    result[0] = s[63 - threadIdx.x] * 0.0f;
""",
    )
    reasons = [e.reason for e in device.sanitize(broken, TASK, Precision.FP32, [CASE])]
    assert any(reason.startswith("shared_race: kernel dot, lines 4 and 5") for reason in reasons), reasons


def test_cases_that_a_cpu_can_afford(device: CpuDevice) -> None:
    timed, checked = device.timed_cases(TASK), device.checked_cases(TASK)
    assert timed
    assert {case.name for case in timed} <= {case.name for case in checked}
    costs = [TASK.complexity(case.sizes) for case in checked]
    assert costs == sorted(costs)


def test_builds_are_cached(device: CpuDevice, baseline: Build, tmp_path: Path) -> None:
    again = device.build(Candidate(source=TASK.source(Precision.FP32)), TASK, Precision.FP32)
    assert again.library == baseline.library
    with device.open(again, TASK, Precision.FP32) as runner:
        assert isinstance(runner, CpuRunner)


@pytest.mark.parametrize(
    ("code", "output", "failure"),
    [
        (None, f"compiling took more than 120 s and was stopped; {STARVED} for 9.1 s of them", "infra"),
        (None, "compiling took more than 120 s and was stopped", "source"),
        (1, "g++: fatal error: Killed signal terminated program cc1plus", "infra"),
        (1, "", "infra"),
        (1, "candidate.cu:3:5: error: no", "source"),
    ],
)
def test_a_compiler_that_a_busy_machine_stopped_is_no_fault_of_the_source(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, code: int | None, output: str, failure: str
) -> None:
    body = f"    result[0] = x[{len(output)}];\n"
    with monkeypatch.context() as patch:
        patch.setattr(cpu_build, "run_limited", lambda *_: (code, output))
        built = build(device, body)
    assert (built.ok, built.failure) == (False, failure)
    assert output in built.log
    assert build(device, body).ok is (failure == "infra"), "what the machine is to blame for is tried again"


def test_each_instance_of_a_template_has_its_own_registers() -> None:
    launch = LaunchCounters.model_construct(kernel="row<float,256>", registers=0)
    counters = Counters.model_construct(launches=(launch,))
    resources = [
        Resources(kernel=f"row<float, {threads}>", registers=registers, shared_bytes=0)
        for threads, registers in ((128, 40), (256, 16))
    ]
    assert with_registers(counters, resources).launches[0].registers == 16


@pytest.mark.nvcc
def test_nvcc_has_the_last_word(host: Host) -> None:
    from cudamaster.tools.device.cuda.toolkit import find_nvcc

    if find_nvcc() is None:
        pytest.skip("no nvcc on this machine")
    device = CpuDevice(root=host.root)
    good = build(device, "    result[0] = x[0];\n")
    assert good.ok, good.log
    assert good.checked_with_nvcc
    assert good.resources[0].registers > 0
    # The host compiler takes a host function in a kernel; nvcc does not.
    bad = build(device, "    result[0] = (float)rand();\n")
    assert (bad.ok, bad.failure, bad.checked_with_nvcc) == (False, "source", True)
