"""Rules that need fewer launches, or make better use of one: what they change, and what they must leave alone."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.chain import apply_all
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source


def changes(rule: str, source: str) -> str | None:
    found = rule_named(rule)
    assert found is not None
    return found.changes(Source(source), Setting())


# --- partial sums ----------------------------------------------------------------------------------------------------

MEAN = """#include <cuda_runtime.h>
__global__ void add(float* mean, const float* a, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
    atomicAdd(mean, sum);
}
__global__ void divide(float* sum, float by) { *sum /= by; }
extern "C" size_t mean_workspace_bytes(int n) {
    return 0;
}
extern "C" cudaError_t mean(float* mean, const float* a, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemsetAsync(mean, 0, sizeof(float), stream);
    if (error != cudaSuccess) return error;
    add<<<(n + 255) / 256, 256, 0, stream>>>(mean, a, n);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    divide<<<1, 1, 0, stream>>>(mean, (float)n);
    return cudaGetLastError();
}
"""


def reduced(source: str) -> str:
    first = changes("block_reduce", source)
    assert first is not None
    return first


def test_partial_sums_take_the_place_of_clearing_and_atomics() -> None:
    changed = changes("partial_sums", reduced(MEAN))
    assert changed is not None
    assert "atomicAdd" not in changed
    assert "cudaMemsetAsync" not in changed
    assert "finish_sum<<<1, 256, 0, stream>>>" in changed
    assert "return blocks_of_processor * 132 * sizeof(float);" in changed
    assert changes("partial_sums", changed) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cudaMemsetAsync(mean, 0,", "cudaMemsetAsync(mean, 1,"),  # it is not cleared
        ("divide<<<1, 1, 0, stream>>>", "divide<<<2, 1, 0, stream>>>"),  # it is finished twice
        ("divide<<<1, 1, 0, stream>>>", "divide<<<1, 1, 0, 0>>>"),  # on another stream
        ("divide<<<1, 1, 0, stream>>>(mean,", "divide<<<1, 1, 0, stream>>>((float*)workspace,"),  # another sum
        ("    return 0;", "    return 4;"),  # the workspace is in use
        ("error = cudaGetLastError();", "error = cudaMemsetAsync(mean, 0, 4, stream);"),  # the sum is lost
    ],
)
def test_other_sums_keep_their_launches(old: str, new: str) -> None:
    assert old in MEAN
    assert changes("partial_sums", reduced(MEAN.replace(old, new, 1))) is None


TOTAL = """#include <cuda_runtime.h>
__global__ void add(float* total, const float* a, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
    atomicAdd(total, sum);
}
extern "C" cudaError_t total(float* total, const float* a, int n, void* workspace, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemsetAsync(total, 0, sizeof(float), stream);
    if (error != cudaSuccess) return error;
    int items = n;
    add<<<(n + 255) / 256, 256, 0, stream>>>(total, a, n);
    return cudaGetLastError();
}
"""


def test_a_small_sum_is_stored_by_one_block_and_a_large_one_added_by_many() -> None:
    changed = changes("one_block_if_small", reduced(TOTAL))
    assert changed is not None
    assert "const bool alone = n <= 7168;\n    cudaError_t error = alone ? cudaSuccess : cudaMemsetAsync(" in changed
    assert "add<<<alone ? 1 : blocks_up_to(n, 256 * 4, blocks_of_processor * 132), alone ? 1024 : 256, 0" in changed
    assert "if (threadIdx.x == 0 && gridDim.x > 1) atomicAdd(total, block_total);" in changed
    assert "if (threadIdx.x == 0 && gridDim.x == 1) *total = block_total;" in changed
    assert changes("one_block_if_small", changed) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cudaMemsetAsync(total, 0,", "cudaMemsetAsync(total, 1,"),  # it is added to something
        ("sizeof(float), stream", "2 * sizeof(float), stream"),  # the element after it is cleared as well
        ("sizeof(float), stream", "sizeof(float), 0"),  # on another stream
        ("    int items = n;", "    n = n / 2;"),  # the number of items is not known yet
        ("    int items = n;", "    other<<<1, 1, 0, stream>>>(total);"),  # something comes between
        ("sum += a[i];", "sum += a[i] + threadIdx.x;"),  # the shape of the grid shows in the result
        ("atomicAdd(total, sum);", "atomicAdd(total + 1, sum);"),  # another element is added to
    ],
)
def test_other_sums_are_cleared_and_added_to(old: str, new: str) -> None:
    assert old in TOTAL
    source = changes("block_reduce", TOTAL.replace(old, new, 1)) or TOTAL
    assert changes("one_block_if_small", source) is None


# --- logarithms ------------------------------------------------------------------------------------------------------


def test_only_logarithms_that_are_added_up_are_fast_and_only_far_from_one() -> None:
    source = TOTAL.replace("sum += a[i];", "{ const float kept = logf(a[i]); sum -= logf(a[i]) + kept; }")
    changed = changes("log_in_sums", source)
    assert changed is not None
    assert "const float kept = logf(a[i]);" in changed
    assert "sum -= log_term(a[i]) + kept;" in changed
    assert changed.index("value < 2.0f) return logf(value);") < changed.index("return __logf(value);")
    assert changes("log_in_sums", TOTAL.replace("sum += a[i];", "sum = sum * logf(a[i]);")) is None
    assert changes("log_in_sums", changed) is None


# --- idle turns ------------------------------------------------------------------------------------------------------

THIRDS = """#include <cuda_runtime.h>
__global__ void thirds(float* total, const float* a, float by, int n) {
    float sum = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        const float scale = by / 3.0f;
        const int last = n - 2;
        if (i % 3 == 0 && i + 1 < last) {
            const float pair = a[i] + a[i + 1];
            sum += scale * pair;
        }
        if (i == last - 1) {
            sum += a[i];
        }
    }
    atomicAdd(total, sum);
}
extern "C" cudaError_t run(float* total, const float* a, float by, int n, void* w, size_t bytes, cudaStream_t stream) {
    thirds<<<(n + 255) / 256, 256, 0, stream>>>(total, a, by, n);
    return cudaGetLastError();
}
"""


def test_only_turns_with_work_are_dealt_out() -> None:
    changed = changes("skip_idle_turns", THIRDS)
    assert changed is not None
    assert "first = 3 * (blockIdx.x * (long long)blockDim.x + threadIdx.x); first < n;" in changed
    assert "if (i < n && i + 1 < last) {" in changed
    assert "% 3" not in changed
    assert "const long long i = last - 1;" in changed
    assert changed.index("const float scale") < changed.index("for (long long first")
    assert changes("skip_idle_turns", changed) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i % 3 == 0", "i % 3 == 1"),  # not a multiple
        ("const int last = n - 2;", "const int last = n - i;"),  # another in every turn
        (
            "const int last = n - 2;",
            "const int last = n / (n - 2);",
        ),  # done without turns, too
        ("sum += scale * pair;", "sum = scale * pair;"),  # the last turn counts
        ("sum += a[i];", "sum += sum > 1.0f ? a[i] : 0.0f;"),  # the order counts
        ("i + 1 < last", "a[i] > 0.0f"),  # data decide
        ("i == last - 1", "i == by"),  # not a whole number
        ("a[i] + a[i + 1]", "a[i] + (by > 0.0f ? a[i + 1] : 0.0f)"),  # perhaps not there
        ("long long i", "unsigned i"),  # it wraps around
    ],
)
def test_loops_with_other_tests_stay(old: str, new: str) -> None:
    assert old in THIRDS
    assert changes("skip_idle_turns", THIRDS.replace(old, new, 1)) is None


# --- scans -----------------------------------------------------------------------------------------------------------


def test_a_scan_of_one_tile_is_one_launch() -> None:
    source, _ = apply_all(load_task("prefix_sum").source(Precision.FP32), Setting(), passes=1)
    assert source.index("if (tiles > 1) {") < source.index("tile_scan<<<")


# --- fused launches --------------------------------------------------------------------------------------------------


def test_parts_that_the_same_threads_leave_early_are_fused() -> None:
    source = load_task("batch_norm").source(Precision.FP32)
    shared = changes("warp_per_item", source)
    assert shared is not None
    fused = changes("fuse_launches", shared)
    assert fused is not None
    assert fused.count("<<<") == 1
    start = fused.index("__global__ void fused_kernel")
    assert fused.index("return;", start) < fused.index("statistics_kernel(", start)  # before any barrier


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (c >= C) return;", "if (c >= C + 1) return;"),  # other threads leave the second part
        ("= mean[c];", "= mean[c / 2];"),  # what another block wrote
        (
            "if (error != cudaSuccess) return error;\n",
            "if (error != cudaSuccess) return error;\n    cudaGetLastError();\n",
        ),
        ("return cudaGetLastError();\n}", "return error;\n}"),  # the first launch's error is asked for at the end
    ],
)
def test_parts_that_differ_are_not_fused(old: str, new: str) -> None:
    shared = changes("warp_per_item", load_task("batch_norm").source(Precision.FP32))
    assert shared is not None
    assert old in shared
    head, _, tail = shared.rpartition(old)
    assert changes("fuse_launches", head + new + tail) is None


# --- sums of one block's own -----------------------------------------------------------------------------------------


def test_what_one_block_alone_adds_up_is_stored() -> None:
    changed = changes("own_sums", reduced(load_task("layer_norm").source(Precision.FP32)))
    assert changed is not None
    assert "atomicAdd" not in changed
    assert "cudaMemsetAsync" not in changed
    assert changed.count("[blockIdx.x] = block_total") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("normalize_kernel<<<rows, 256", "normalize_kernel<<<rows + 1, 256"),  # it reads a zero that nobody added to
        ("const float variance = squares[blockIdx.x]", "const float variance = squares[N]"),
        ("if (threadIdx.x == 0) atomicAdd(&squares", "if (threadIdx.x == N) atomicAdd(&squares"),  # perhaps nobody
        ("float* squares = sum + rows;", "float* squares = sum + rows;\n    if (sum == nullptr) return cudaSuccess;"),
        ("cudaMemsetAsync(workspace, 0,", "cudaMemsetAsync(workspace, 1,"),
        ("squares_kernel<<<rows, 256,", "squares_kernel<<<rows, dim3(256, 2),"),  # two threads add
    ],
)
def test_buffers_whose_zeros_count_stay_cleared(old: str, new: str) -> None:
    source = reduced(load_task("layer_norm").source(Precision.FP32))
    assert old in source
    assert changes("own_sums", source.replace(old, new)) is None
