"""Launches with programmatic dependence: which ones, and what a kernel that is there early may not do."""

from __future__ import annotations

import pytest
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source

WAIT = "cudaGridDependencySynchronize();"

TWO = """#include <cuda_runtime.h>
__global__ void part(float* __restrict__ sums, const float* __restrict__ a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sums[i % 7], a[i]);
}
__global__ void finish(float* __restrict__ out, const float* __restrict__ sums, const float* __restrict__ a) {
    out[threadIdx.x] = sums[threadIdx.x] + a[0];
}
extern "C" size_t f_workspace_bytes(int n) { return 28; }
extern "C" cudaError_t f(float* out, const float* a, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    float* sums = (float*)workspace;
    cudaError_t error = cudaMemsetAsync(sums, 0, 28, stream);
    if (error != cudaSuccess) return error;
    part<<<n / 256 + 1, 256, 0, stream>>>(sums, a, n);
    finish<<<1, 7, 0, stream>>>(out, sums, a);
    return cudaGetLastError();
}
"""


def changed(source: str, *, on_gpu: bool = True) -> str | None:
    rule = rule_named("early_launch")
    assert rule is not None
    return rule.changes(Source(source), Setting(on_gpu=on_gpu))


def test_what_follows_a_launch_is_launched_early_and_waits() -> None:
    code = changed(TWO)
    assert code is not None
    assert "cudaMemsetAsync" not in code
    assert "error = clear(sums, 28, stream);" in code
    assert "launch_early(part, n / 256 + 1, 256, 0, stream, sums, a, n);" in code
    assert "launch_early(finish, 1, 7, 0, stream, out, sums, a);" in code
    assert code.count(WAIT) == 2
    assert not Source(code).root.has_error
    assert changed(code) is None


def test_what_another_kernel_wrote_is_not_said_to_be_constant() -> None:
    code = changed(TWO)
    assert code is not None
    head = code[code.index("void finish") : code.index("{", code.index("void finish"))]
    assert "__restrict__ a" in head, "an input of the call is the same before and after"
    assert head.count("__restrict__") == 1


def test_the_first_launch_stays_plain() -> None:
    code = changed(TWO.replace("cudaError_t error = cudaMemsetAsync(sums, 0, 28, stream);", "cudaError_t error{};"))
    assert code is not None
    assert "part<<<" in code
    assert code.count(WAIT) == 1
    assert code.count("cudaTriggerProgrammaticLaunchCompletion();") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('extern "C" cudaError_t', "static cudaError_t"),  # who calls it is not known
        ("cudaMemsetAsync(sums, 0, 28, stream)", "cudaMemsetAsync(sums, 255, 28, stream)"),
    ],
)
def test_other_launches_and_fills_stay(old: str, new: str) -> None:
    code = changed(TWO.replace(old, new))
    assert code is None or new in code


def test_kernels_in_two_branches_do_not_follow_one_another() -> None:
    head, tail = TWO.split("    part<<<")
    head = head.replace("cudaMemsetAsync(sums, 0, 28, stream)", "cudaSuccess")
    branches = tail.replace("    finish<<<", "    else finish<<<", 1)
    assert changed(f"{head}    if (n > 9) part<<<{branches}") is None


def test_a_device_without_such_launches_keeps_plain_ones() -> None:
    assert changed(TWO, on_gpu=False) is None
    assert changed(TWO.replace("a[i])", "__ldg(&a[i]))").replace("+ a[0]", "+ __ldg(a)")) is None


def test_inputs_are_read_before_the_wait_where_a_launch_always_comes_first() -> None:
    code = changed(TWO)
    assert code is not None
    part = code[code.index("void part") : code.index("void finish")]
    assert part.index("const int i") < part.index(WAIT)
    conditional = "cudaError_t error = n > 9 ? cudaMemsetAsync(sums, 0, 28, stream) : cudaSuccess;"
    code = changed(TWO.replace("cudaError_t error = cudaMemsetAsync(sums, 0, 28, stream);", conditional))
    assert code is not None
    part = code[code.index("void part") : code.index("void finish")]
    assert part.index(WAIT) < part.index("const int i"), "inputs may come from a kernel before the call"


ADDED = TWO.replace(
    "if (i < n) atomicAdd(&sums[i % 7], a[i]);", "if (i >= n) return;\n    atomicAdd(&sums[i % 7], a[i]);"
)


def test_what_is_added_is_loaded_before_the_wait_and_every_thread_waits() -> None:
    code = changed(ADDED)
    assert code is not None
    assert f"if (i >= n) {{ {WAIT} return; }}" in code
    assert "const long long place = i % 7;" in code
    assert f"const float value = a[i];\n    {WAIT}\n    atomicAdd(&sums[place], value);" in code


@pytest.mark.parametrize(("old", "new"), [("a[i]);", "a[i] + sums[0]);"), ("sums[i % 7]", "sums[(int)sums[0]]")])
def test_what_was_written_before_is_read_after_the_wait(old: str, new: str) -> None:
    code = changed(ADDED.replace(old, new))
    assert code is not None
    part = code[code.index("void part") : code.index("void finish")]
    assert part.rindex(WAIT) < part.index("atomicAdd"), part
    assert "value =" not in part


ALONE = """#include <cuda_runtime.h>
__global__ void add(float* total, const float* a, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
    if (gridDim.x > 1) atomicAdd(total, sum);
}
extern "C" cudaError_t f(float* total, const float* a, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    const bool alone = n < 99;
    cudaError_t error = alone ? cudaSuccess : cudaMemsetAsync(total, 0, 4, stream);
    if (error != cudaSuccess) return error;
    add<<<alone ? 1 : 1 + n / 256, 256, 0, stream>>>(total, a, n);
    return cudaGetLastError();
}
"""


def test_inputs_are_read_before_the_wait_only_where_the_clearing_came_before() -> None:
    code = changed(ALONE)
    assert code is not None
    assert code.index(f"if (gridDim.x == 1) {WAIT}") < code.index("float sum") < code.index(f"    {WAIT}\n    if (grid")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<<<alone ? 1 : 1 + n / 256", "<<<n < 98 ? 1 : 1 + n / 256"),  # another condition
        ("<<<alone ? 1 : 1 + n / 256", "<<<alone ? 2 : 1 + n / 256"),  # many blocks come without a clearing
        (
            "alone ? cudaSuccess : cudaMemsetAsync(total, 0, 4, stream)",
            "alone ? cudaMemsetAsync(total, 0, 4, stream) : error",
        ),
        ("cudaError_t error = alone", "cudaError_t error = n < 9 ? cudaSuccess : alone"),
        ("const bool alone = n < 99;", "bool alone = n < 99; if (n == 7) alone = false;"),
    ],
)
def test_inputs_are_read_after_the_wait_where_the_clearing_is_not_sure(old: str, new: str) -> None:
    assert old in ALONE
    code = changed(ALONE.replace(old, new, 1))
    assert code is not None
    assert code.index(f"\n    {WAIT}") < code.index("float sum")


def test_memory_that_needs_no_parameter_is_reached_after_the_wait() -> None:
    code = changed(ADDED.replace("__global__ void part", "__device__ float offset;\n__global__ void part"))
    assert code is not None
    part = code[code.index("void part") : code.index("void finish")]
    assert part.index(WAIT) < part.index("const int i")
