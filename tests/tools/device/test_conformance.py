"""What every device must do, whatever it is: the suite that a new device has to pass.

The cpu device always takes part, the cuda device where there is a GPU.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.device.select import get_device
from cudamaster.tools.judge.reference import instance
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.profile.filter import classify
from cudamaster.tools.records import BuildSpec, Candidate, EstimatedSpeedup, Speedup, Status

DOT = load_task("dot_product")
FP32 = Precision.FP32
BASELINE = DOT.source(FP32)
CASES = tuple(c for c in DOT.in_set(CaseSet.SMALL) if c.sizes["N"] in (33, 257))
CASE = CASES[0]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    try:
        if request.param == "cuda":
            return get_device("cuda")
        cpu = CpuDevice(use_nvcc=False)  # what nvcc says of a source is tested elsewhere
        cpu.info()
        return cpu
    except DeviceUnavailable as error:
        pytest.skip(str(error))


def changed(old, new, source=BASELINE):
    """Return the source with one edit."""
    assert old in source
    return source.replace(old, new)


def build(device, source, spec=None):
    """Build a candidate for the dot product."""
    return device.build(Candidate(source=source, spec=spec or BuildSpec()), DOT, FP32)


def judged(device, source, **options):
    """Build and verify a candidate at a few cases."""
    built = build(device, source)
    assert built.ok, built.log
    return verify(built, DOT, FP32, device, cases=CASES, **options)


def test_it_says_what_it_is(device):
    info = device.info()
    assert info.name == device.name
    assert info.gpu
    assert info.arch.startswith("sm_")
    assert info.multiprocessors > 0
    assert info.compiler


def test_its_cases_are_the_tasks_and_cheapest_first(device):
    checked, timed = device.checked_cases(DOT), device.timed_cases(DOT)
    assert all(case in DOT.cases for case in checked)
    assert timed
    costs = [DOT.complexity(c.sizes) for c in checked]
    assert costs == sorted(costs)
    assert {c.set for c in checked} >= {CaseSet.SMALL, CaseSet.HIDDEN}


def test_a_right_kernel_builds_and_passes(device):
    built = build(device, BASELINE)
    assert built.ok, built.log
    assert Path(built.library).is_file()
    assert built.command
    assert build(device, BASELINE).library == built.library, "the same candidate is built once"
    verdict = verify(built, DOT, FP32, device, cases=CASES)
    assert verdict.passed, verdict.detail
    assert verdict.device == device.name


def test_a_mistake_in_the_source_is_a_build_error_with_its_line(device):
    built = build(device, changed("sum += x[i]", "sum += undeclared_name[i]"))
    assert not built.ok
    assert built.failure == "source"
    assert "undeclared_name" in built.log
    line = 1 + BASELINE[: BASELINE.index("sum += x[i]")].count("\n")
    assert str(line) in built.log


def test_what_it_cannot_build_is_not_blamed_on_the_source(device):
    built = build(device, "#include <mma.h>\n" + BASELINE + "\nnvcuda::wmma::layout_t unused_layout;\n")
    assert built.ok or built.failure == "unsupported", built.log


def test_a_missing_entry_is_a_build_error(device):
    built = build(device, changed('extern "C" cudaError_t dot_product(', 'extern "C" cudaError_t other_name('))
    assert not built.ok
    assert built.failure == "source"


def test_the_options_reach_the_compiler(device):
    source = changed("atomicAdd(result, sum)", "atomicAdd(result, sum * FACTOR)")
    assert build(device, source).failure == "source"
    built = build(device, source, BuildSpec(defines={"FACTOR": 1}))
    assert built.ok, built.log
    assert verify(built, DOT, FP32, device, cases=CASES).passed
    twice = build(device, source, BuildSpec(defines={"FACTOR": 2}))
    assert verify(twice, DOT, FP32, device, cases=CASES).status is Status.WRONG


@pytest.mark.parametrize(
    ("old", "new", "status", "says"),
    [
        ("blocks, threads,", "blocks, 4096,", Status.LAUNCH_ERROR, "invalid"),
        ("    return cudaGetLastError", "    return cudaErrorInvalidValue; cudaGetLastError", Status.LAUNCH_ERROR, ""),
        ("atomicAdd(result, sum)", "atomicAdd((float*)8, sum)", Status.CRASH, ""),
        ("i < N;", "i < N - 1;", Status.WRONG, "should be"),
        ("atomicAdd(result, sum)", "result[blockIdx.x * blockDim.x + threadIdx.x] = sum", Status.WRONG, "overwritten"),
        ("atomicAdd(result, sum)", "atomicAdd(result, sum); ((float*)x)[0] = 3.0f", Status.WRONG, "x"),
        ("    cudaError_t error = cudaMemsetAsync(result, 0, sizeof(float), stream);\n"
         "    if (error != cudaSuccess) return error;\n", "", Status.WRONG, "should be"),
        ("atomicAdd(result, sum)", "if (sum == 1e30f) atomicAdd(result, sum)", Status.WRONG, "are 0"),
    ],
    ids=["too_many_threads", "error_returned", "bad_address", "last_term_lost", "out_of_bounds", "input_changed",
         "poison_read", "nothing_added"],
)  # fmt: skip
def test_a_fault_gets_its_name(device, old, new, status, says):
    verdict = judged(device, changed(old, new))
    assert verdict.status is status, verdict.summary
    assert says in verdict.detail


def test_an_answer_kept_for_the_same_pointer_is_found(device):
    source = changed("cudaError_t error = cudaMemsetAsync", "static const void* seen = nullptr; if (x == seen) "
                     "return cudaSuccess; seen = x;\n    cudaError_t error = cudaMemsetAsync")  # fmt: skip
    assert judged(device, source).status is Status.WRONG


def test_a_kernel_that_never_ends_is_a_timeout_and_leaves_nothing(device):
    built = build(device, changed("float sum = 0.0f;", "float sum = 0.0f; while (*(volatile float*)x != 12345.0f) {}"))
    assert built.ok, built.log
    data = instance(DOT, CASE, FP32, 1)
    with device.open(built, DOT, FP32) as runner:
        runner.limits = type(runner.limits)(call_s=2.0)
        runner.load_case(CASE, data.memory)
        assert runner.call().status == "timeout"
        pid, folder = runner.pid, runner.folder
    assert_gone(pid, folder)
    assert judged(device, BASELINE).passed, "the device is of use afterwards"


def test_nothing_is_left_behind(device):
    data = instance(DOT, CASE, FP32, 2)
    with device.open(build(device, BASELINE), DOT, FP32) as runner:
        runner.load_case(CASE, data.memory)
        result = runner.call()
        assert result.status == "ok"
        assert not result.damage
        np.testing.assert_array_equal(result.outputs["result"], data.expected["result"].value.astype(np.float32))
        pid, folder = runner.pid, runner.folder
    assert_gone(pid, folder)


def assert_gone(pid, folder):
    """Neither process nor folder is there any more."""
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_comparison_is_measured_or_estimated_and_says_which(device):
    built = build(device, BASELINE)
    gain = device.compare(built, built, DOT, FP32, device.timed_cases(DOT)[:1])
    assert isinstance(gain, {"cuda": Speedup, "cpu": EstimatedSpeedup}[device.name])
    geomean = gain.geomean if isinstance(gain, EstimatedSpeedup) else gain.geomean.value
    assert 0.8 < geomean < 1.25, "a kernel is as fast as itself"
    for case in gain.cases:
        assert case.floor_us is not None
        assert case.floor_us > 0
        assert case.baseline_us > 0
        assert case.complexity == DOT.complexity(next(c for c in DOT.cases if c.name == case.case).sizes)


def test_a_profile_has_what_the_diagnosis_needs(device):
    profile = device.profile(build(device, BASELINE), DOT, FP32, device.timed_cases(DOT)[0])
    assert profile.device == device.name
    launch = profile.launches[-1]
    assert "dot_product_kernel" in launch.kernel
    assert launch.block == (256, 1, 1)
    for name in ("duration_us", "sm_throughput_pct", "memory_throughput_pct", "registers_per_thread"):
        if device.name == "cuda" or name in launch.metrics:
            assert launch.metrics[name].value >= 0
            assert launch.metrics[name].unit
    assert {"sm_throughput_pct", "memory_throughput_pct", "duration_us"} <= launch.metrics.keys()
    assert classify(profile)


def test_a_race_is_found_and_the_baseline_has_none(device):
    racy = changed("atomicAdd(result, sum)", "__shared__ float s; s = sum; __syncthreads(); atomicAdd(result, s)")
    assert device.sanitize(build(device, BASELINE), DOT, FP32, CASES[-1:]) == ()
    assert device.sanitize(build(device, racy), DOT, FP32, CASES[-1:])
