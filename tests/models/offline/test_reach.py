"""Which rules reach what: kernels written for this test, one for each idiom, and every baseline of the benchmark."""

from __future__ import annotations

import re

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.models.offline.catalog import RULES, rule_named
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source

LITTLE = {"reverse_array", "spmv_coo"}
"""Baselines near their floor from the start: nothing but read-only pointers and the like is left."""


def changes(rule: str, source: str, setting: Setting | None = None) -> str | None:
    found = rule_named(rule)
    assert found is not None
    return found.changes(Source(source), setting or Setting())


def program(kernel: str, launch: str, arguments: str = "const float* a, const float* w, float* b, int n, int m") -> str:
    return f"""#include <cuda_runtime.h>
{kernel}
extern "C" size_t f_workspace_bytes(int n, int m) {{ return 0; }}
extern "C" cudaError_t f({arguments}, void* workspace, size_t bytes, cudaStream_t stream) {{
    {launch}
    return cudaGetLastError();
}}
"""


@pytest.mark.parametrize("name", task_names())
def test_every_baseline_has_a_rule_of_weight(name: str) -> None:
    for precision in Precision:
        source = Source(load_task(name).source(precision))
        reached = [r.name for r in RULES if r.name != "restrict_readonly" and r.changes(source, Setting()) is not None]
        assert bool(reached) or name in LITTLE, precision


# --- windows ---------------------------------------------------------------------------------------------------------

SMOOTH = """
__global__ void smooth(const float* a, const float* w, float* b, int n, int m) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at > n - m) return;
    float acc = 0.0f;
    for (int t = 0; t < m; ++t) acc += w[t] * a[at + t];
    b[at] = acc / m;
}
"""
SMOOTH_LAUNCH = "smooth<<<(n - m) / 128 + 1, 128, 0, stream>>>(a, w, b, n, m);"


def test_a_window_slides_in_registers() -> None:
    changed = changes("sliding_window", program(SMOOTH, SMOOTH_LAUNCH))
    assert changed is not None
    assert "float4" in changed
    assert "acc / m" in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a[at + t]", "a[at + 2 * t]"),  # a dilated window: neighbours share nothing at once
        ("a[at + t]", "a[2 * at + t]"),  # a stride between windows
        ("w[t]", "w[t + at]"),  # weights of its own for every result
        ("acc += w[t] * a[at + t]", "acc = w[t] * a[at + t] - acc"),  # turns that depend on one another
    ],
)
def test_other_windows_are_left_alone(old: str, new: str) -> None:
    assert changes("sliding_window", program(SMOOTH.replace(old, new), SMOOTH_LAUNCH)) is None


# --- merges ----------------------------------------------------------------------------------------------------------


def test_runs_are_merged_by_rank_only_if_every_step_is_a_merge() -> None:
    source = load_task("sorting").source(Precision.FP32)
    assert changes("rank_merge", source) is not None
    for old, new in (
        ("source[right] < source[left]", "source[right] < target[left]"),  # it looks at what it writes
        (
            "start + 2 * width < N ? start + 2 * width",
            "start + 3 * width < N ? start + 3 * width",
        ),  # runs of two lengths
        ("width *= 2", "width *= 3"),
        ("long long width = 1;", "long long width = 4;"),
    ):
        assert old in source
        assert changes("rank_merge", source.replace(old, new)) is None, new


# --- levels ----------------------------------------------------------------------------------------------------------


def test_levels_are_fused_only_if_partners_stay_in_the_tile() -> None:
    source = load_task("fft").source(Precision.FP32)
    assert changes("fuse_levels", source) is not None
    for old, new in (
        ("lower = upper + half", "lower = upper + 2 * half"),
        ("const float upper_re = re[upper]", "const float upper_re = re[pairs - 1 - pair]"),
        ("half *= 2", "half *= 4"),
    ):
        assert old in source
        assert changes("fuse_levels", source.replace(old, new)) is None, new


# --- columns ---------------------------------------------------------------------------------------------------------

GATHER = """
__global__ void gather(const float* a, const float* w, float* b, int n, int m) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n || c >= m) return;
    float total = 0.0f;
    for (int j = 0; j < n; ++j) {
        if (w[r * n + j] > 0.0f) total += w[r * n + j] * a[j * m + c];
    }
    b[r * m + c] = total;
}
"""
GATHER_LAUNCH = "gather<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16), 0, stream>>>(a, w, b, n, m);"


def test_columns_are_taken_several_at_once() -> None:
    changed = changes("vector_columns", program(GATHER, GATHER_LAUNCH))
    assert changed is not None
    assert "(m) % 4 == 0" in changed
    assert "gather<1>" in changed


def test_a_warp_takes_as_many_rows_as_fit() -> None:
    changed = changes("vector_columns", program(GATHER, GATHER_LAUNCH))
    assert changed is not None
    assert "lanes_for((m + 3) / 4)" in changed
    assert "rows_of_block * 32 / lanes" in changed


def test_few_elements_are_not_taken_several_at_once() -> None:
    changed = changes("vector_columns", program(GATHER, GATHER_LAUNCH), Setting(multiprocessors=100))
    assert changed is not None
    assert re.findall(r">= (\d+)LL", changed) == ["409600", "204800"]


def test_columns_without_rows_are_done_once() -> None:
    alone = """
__global__ void sums(const float* a, const float* w, float* b, int n, int m) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= m) return;
    for (int j = 0; j < n; ++j) atomicAdd(&b[c], w[j] * a[j * m + c]);
}
"""
    changed = changes("vector_columns", program(alone, "sums<<<(m + 127) / 128, 128, 0, stream>>>(a, w, b, n, m);"))
    assert changed is not None
    assert changed.count("dim3 block_shape(32);") == 3
    assert "threadIdx.y" not in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a[j * m + c]", "a[c * n + j]"),  # columns far apart
        ("if (w[r * n + j] > 0.0f)", "if (a[j * m + c] > 0.0f)"),  # a branch that differs between columns
        ("b[r * m + c] = total;", "b[r * m + c] = total + b[r * m];"),  # it reads what another column writes
        ("j < n; ++j", "j < c; ++j"),  # as many turns as the column says
    ],
)
def test_columns_that_differ_are_not(old: str, new: str) -> None:
    assert old in GATHER
    assert changes("vector_columns", program(GATHER.replace(old, new), GATHER_LAUNCH)) is None


# --- rows ------------------------------------------------------------------------------------------------------------

ROWS = """
__global__ void scale(const float* a, const float* w, float* b, int n, int m) {
    for (int r = blockIdx.x; r < n; r += gridDim.x) {
        for (int c = threadIdx.x; c < m; c += blockDim.x) b[r * m + c] = w[c] * a[r * m + c];
    }
}
"""


def test_rows_are_shared_by_blocks_unless_blocks_would_meet() -> None:
    launch = "scale<<<n, 128, 0, stream>>>(a, w, b, n, m);"
    assert "gridDim.y" in (changes("spread_rows", program(ROWS, launch)) or "")
    shared = ROWS.replace("b[r * m + c]", "b[c]")
    assert changes("spread_rows", program(shared, launch)) is None


# --- indices ---------------------------------------------------------------------------------------------------------

SPLIT = """
__global__ void split(const float* a, const float* w, float* b, int n, int m) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)n * m) return;
    b[i] = a[i] * w[i / m];
}
"""
SPLIT_LAUNCH = "split<<<(n * (long long)m + 255) / 256, 256, 0, stream>>>(a, w, b, n, m);"


def test_indices_are_narrowed_behind_a_check_of_the_sizes() -> None:
    changed = changes("narrow_index", program(SPLIT, SPLIT_LAUNCH))
    assert changed is not None
    assert "split<int>" in changed
    assert "split<long long>" in changed
    assert "(double)(n) * (double)(m) < 2147483648.0" in changed


def test_an_index_that_was_loaded_is_not_narrowed() -> None:
    for index in ("(long long)a[i] * m + i / m", "at[i] * (long long)m + i / m"):
        loaded = program(SPLIT.replace("w[i / m]", f"w[{index}]"), SPLIT_LAUNCH).replace(
            "const float* w", "const int* at, const float* w"
        )
        assert changes("narrow_index", loaded.replace("(a, w, b", "(a, at, w, b")) is None


# --- sums ------------------------------------------------------------------------------------------------------------

PAIRS = """
__global__ void pairs(const float* a, const float* w, float* b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2 == 0 && i + 1 < n) atomicAdd(b, a[i] * a[i + 1]);
    if (i == n - 1 && n % 2 == 1) atomicAdd(b, a[i]);
}
"""


def test_guarded_terms_are_gathered_over_all_threads_of_the_launch() -> None:
    launch = "pairs<<<(n + 127) / 128, 128, 0, stream>>>(a, w, b, n, m);"
    changed = changes("block_reduce", program(PAIRS, launch))
    assert changed is not None
    assert changed.count("atomicAdd") == 1
    assert "((n + 127) / 128) * (long long)(128)" in changed
    apart = PAIRS.replace("atomicAdd(b, a[i]);", "atomicAdd(b + 1, a[i]);")
    assert changes("block_reduce", program(apart, launch)) is None


def test_a_load_behind_a_test_of_the_index_is_not_done_ahead_of_it() -> None:
    body = """
__global__ void part(const float* a, const float* w, float* b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 0.0f;
    if (i < m) x = a[i];
    b[i] = x;
}
"""
    launch = "part<<<(n + 127) / 128, 128, 0, stream>>>(a, w, b, n, m);"
    assert changes("vectorize", program(body, launch)) is None
    assert changes("vectorize", program(body.replace("if (i < m)", "if (w[i] > 0.0f)"), launch)) is not None


# --- neighbours ------------------------------------------------------------------------------------------------------

BLUR = """
__global__ void blur(const float* a, const float* w, float* b, int n, int m) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < 1 || y >= n - 1) return;
    for (int x = blockIdx.y * blockDim.y + threadIdx.y; x < m - 1; x += gridDim.y * blockDim.y) {
        if (x < 1) continue;
        b[y * m + x] = a[(y - 1) * m + x] + a[(y + 1) * m + x] + a[y * m + x - 1] + a[y * m + x + 1];
    }
}
"""
BLUR_LAUNCH = "blur<<<dim3((n + 15) / 16, 64), dim3(16, 16), 0, stream>>>(a, w, b, n, m);"


def test_rows_of_neighbours_are_marched_along_the_fast_axis() -> None:
    changed = changes("march_rows", program(BLUR, BLUR_LAUNCH))
    assert changed is not None
    assert "const long long x = blockIdx.x * 64LL + threadIdx.x;" in changed
    assert "dim3(tiles_of(m - 1, 64, 2147483647), tiles_of(n - 1, 16, 65535)), dim3(64, 4)" in changed
    # What is left out does not depend on the row, or it sends the rows the slow way.
    assert "if (x < 1) continue;" in changed
    assert "!((first + r) < 1)" in changed
    assert changes("narrow_index", changed) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("b[y * m + x] = a", "b[y * m + x] = threadIdx.x + a"),  # the result says which thread made it
        ("b[y * m + x] = a", "b[y * m + x] = b[y * m + x + 1] + a"),  # it reads what another point writes
        ("b[y * m + x] = a", "b[y * m + x + y] = a"),  # rows that overlap
        ("if (x < 1) continue;", "if (x < 1) return;"),  # a thread that leaves, not a point
        ("if (x < 1) continue;", "if (a[x] < 1.0f) break;"),
        ("b[y * m + x] = a[(y - 1) * m + x] + a[(y + 1) * m + x] + a[y * m + x - 1] + a[y * m + x + 1]",
         "b[y * m + x] = a[y * m + x]"),  # no neighbours
    ],
)  # fmt: skip
def test_other_points_are_not_marched(old: str, new: str) -> None:
    assert old in BLUR
    assert changes("march_rows", program(BLUR.replace(old, new), BLUR_LAUNCH)) is None


def test_points_that_may_be_written_in_place_are_not_marched() -> None:
    assert changes("march_rows", program(BLUR, BLUR_LAUNCH.replace("(a, w, b,", "(b, w, b,"))) is None


# --- small windows ---------------------------------------------------------------------------------------------------

POOL = """
__global__ void pool(const float* a, const float* w, float* b, int n, int m) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n) return;
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < n; y += gridDim.y * blockDim.y) {
        float sum = 0.0f;
        for (int i = 0; i < m; ++i) {
            const int row = y - 1 + i;
            if (row < 0 || row >= n) continue;
            for (int j = 0; j < m; ++j) {
                const int col = x + j - 1;
                if (col >= 0 && n > col) sum += a[row * n + col];
            }
        }
        b[y * n + x] = sum;
    }
}
"""
POOL_LAUNCH = "pool<<<dim3((n + 31) / 32, n), dim3(32, 8), 0, stream>>>(a, w, b, n, m);"


def test_a_window_is_tested_at_its_corners_and_unrolled() -> None:
    changed = changes("fixed_window", program(POOL, POOL_LAUNCH))
    assert changed is not None
    assert (
        "whole_window = (y - 1 + 0) >= 0 && (y - 1 + (known_m - 1)) < n && (x + 0 - 1) >= 0 && "
        "(x + (known_m - 1) - 1) < n;"
    ) in changed
    assert changed.count("continue;") == 1
    assert [f"pool<{size}><<<" in changed for size in (0, 2, 3, 4)] == [True] * 4


def test_a_condition_of_another_kind_stays_in_the_window() -> None:
    other = "col >= 0 || n > col"
    changed = changes("fixed_window", program(POOL.replace("col >= 0 && n > col", other), POOL_LAUNCH))
    assert changed is not None
    assert changed.count(other) == 2


def test_a_window_of_a_kernel_with_an_index_type_gets_a_second_parameter() -> None:
    narrow = changes("narrow_index", program(POOL.replace("const int col", "const long long col"), POOL_LAUNCH))
    assert narrow is not None
    changed = changes("fixed_window", narrow)
    assert changed is not None
    assert "template <typename Index, int window_size>" in changed
    assert "pool<long long, 3><<<" in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int row = y - 1 + i", "int row = y - 1 - i"),  # a window that runs backwards: its corners are others
        ("int row = y - 1 + i", "int row = y - 1 + 2 * i"),
        ("int row = y - 1 + i", "int row = (y + i) % n"),
        ("const int row", "const unsigned row"),  # less than zero is very large
        ("row < 0 || row >= n", "row < 0 || (unsigned)row >= n"),
        ("col >= 0 && n > col", "col >= 0 && n > col + a[i]"),
        ("sum += a[row * n + col]", "{ if (sum > 9.0f) break; sum += a[row * n + col]; }"),  # a window that ends early
        ("for (int i = 0; i < m; ++i)", "for (int i = 0; i < m; i += 2)"),
        ("for (int j = 0; j < m; ++j)", "for (int j = i; j < m; ++j)"),
    ],
)
def test_other_windows_keep_their_tests(old: str, new: str) -> None:
    assert old in POOL
    assert changes("fixed_window", program(POOL.replace(old, new), POOL_LAUNCH)) is None


# --- transposes ------------------------------------------------------------------------------------------------------

TURN = """
__global__ void turn(const float* a, const float* w, float* b, int n, int m) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < m && y < n) b[x * n + y] = 2.0f * a[y * m + x] + x;
}
"""
TURN_LAUNCH = "turn<<<dim3((m + 31) / 32, (n + 7) / 8), dim3(32, 8), 0, stream>>>(a, w, b, n, m);"


def test_a_transpose_moves_16_bytes_at_a_time_where_rows_are_aligned() -> None:
    changed = changes("transpose_tile", program(TURN, TURN_LAUNCH))
    assert changed is not None
    assert "(m) % 4 == 0 && (n) % 4 == 0" in changed
    assert "turn<4><<<" in changed
    assert "2.0f * next[n].at[w] + (x + w)" in changed or "2.0f * next[n2].at[w2] + (x + w2)" in changed


def test_rows_that_start_anywhere_are_turned_one_element_at_a_time() -> None:
    changed = changes("transpose_tile", program(TURN.replace("a[y * m + x]", "a[y * m + x + 1]"), TURN_LAUNCH))
    assert changed is not None
    assert "turn<1><<<" in changed
    assert "turn<4><<<" not in changed


def test_a_copy_that_reads_and_writes_along_one_axis_is_not_turned() -> None:
    assert changes("transpose_tile", program(TURN.replace("b[x * n + y]", "b[y * n + x]"), TURN_LAUNCH)) is None


# --- products --------------------------------------------------------------------------------------------------------

PRODUCT = """
__global__ void product(const __nv_bfloat16* a, const __nv_bfloat16* w, float* b, int n, int m) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n || c >= m) return;
    float sum = 0.0f;
    for (int x = 0; x < m; ++x) {
        for (int k = 0; k < n; ++k) sum += __bfloat162float(a[(r * m + x) * n + k]) * __bfloat162float(w[(x * n + k) * m + c]);
    }
    b[r * m + c] = sum;
}
"""  # noqa: E501
PRODUCT_LAUNCH = "product<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16), 0, stream>>>(a, w, b, n, m);"
PRODUCT_ARGUMENTS = "const __nv_bfloat16* a, const __nv_bfloat16* w, float* b, int n, int m"


def product(old: str = "", new: str = "", *, on_gpu: bool = True) -> str | None:
    assert old in PRODUCT
    code = program(PRODUCT.replace(old, new) if old else PRODUCT, PRODUCT_LAUNCH, PRODUCT_ARGUMENTS)
    return changes("tile_shared", code, Setting(on_gpu=on_gpu))


@pytest.mark.parametrize("on_gpu", [False, True])
def test_all_common_indices_are_gone_through_without_a_pause(on_gpu: bool) -> None:
    changed = product(on_gpu=on_gpu)
    assert changed is not None
    assert ("wmma::mma_sync" in changed) == on_gpu
    assert "for (int x" not in changed
    assert "++x;" in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("w[(x * n + k) * m + c]", "w[(x * n + k) * m + 2 * c]"),  # neither index goes by one element
        ("w[(x * n + k) * m + c]", "w[(x * n + k * k) * m + c]"),  # steps of no one length
        ("w[(x * n + k) * m + c]", "w[x / 2 * n * m + k * m + c]"),
    ],
)
def test_operands_of_other_strides_stay_off_the_tensor_cores(old: str, new: str) -> None:
    changed = product(old, new)
    assert changed is not None
    assert "wmma" not in changed


def test_rows_whose_place_is_loaded_are_not_read_beyond_the_end() -> None:
    looked_up = program(
        PRODUCT.replace("float sum", "const int at = order[r];\n    float sum").replace("a[(r * m", "a[(at * m")
        .replace("const __nv_bfloat16* a,", "const int* order, const __nv_bfloat16* a,"),
        PRODUCT_LAUNCH.replace("(a, w", "(order, a, w"), f"const int* order, {PRODUCT_ARGUMENTS}",
    )  # fmt: skip
    assert changes("tile_shared", looked_up, Setting(on_gpu=True)) is None


def test_plain_floats_are_copied_ahead_and_others_by_way_of_registers() -> None:
    floats = PRODUCT.replace("__nv_bfloat16", "float").replace("__bfloat162float", "")
    arguments = PRODUCT_ARGUMENTS.replace("__nv_bfloat16", "float")
    code = program(
        floats.replace("(w[(x * n + k) * m + c])", "fabsf(w[(x * n + k) * m + c])"), PRODUCT_LAUNCH, arguments
    )
    code = code.replace("(a[(r * m + x) * n + k])", "a[(r * m + x) * n + k]")
    changed = changes("tile_shared", code, Setting(on_gpu=True))
    assert changed is not None
    assert "__pipeline_memcpy_async(&left_tile" in changed
    assert "__pipeline_memcpy_async(&right_tile" not in changed
    assert "right_next[n2] = " in changed or "right_next[n3] = " in changed
    assert "__pipeline" not in str(changes("tile_shared", code))
