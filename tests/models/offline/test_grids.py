"""Rules for points on grids: the border in the same launch, patches of points, windows of several rows."""

from __future__ import annotations

import pytest
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source


def changes(rule: str, source: str, setting: Setting | None = None) -> str | None:
    found = rule_named(rule)
    assert found is not None
    return found.changes(Source(source), setting or Setting())


HEAT = """
#include <cuda_runtime.h>

__global__ void inner(float* next, const float* now, int h, int w) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < 1 || y >= h - 1) return;
    for (int x = blockIdx.y * blockDim.y + threadIdx.y; x < w - 1; x += gridDim.y * blockDim.y) {
        if (x < 1) continue;
        next[y * w + x] = now[y * w + x - 1] + now[y * w + x + 1] + now[(y - 1) * w + x] + now[(y + 1) * w + x];
    }
}

__global__ void edge(float* next, const float* now, int h, int w) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < w) {
        next[k] = now[k];
        next[(h - 1) * w + k] = 0.5f * now[k];
    }
    if (k >= 1 && k < h - 1) {
        next[k * w] = now[k * w];
        next[k * w + w - 1] = now[k * w + w - 1];
    }
}

extern "C" cudaError_t heat(float* next, const float* now, int h, int w, cudaStream_t stream) {
    inner<<<dim3((h + 15) / 16, 64), dim3(16, 16), 0, stream>>>(next, now, h, w);
    const int longest = h > w ? h : w;
    edge<<<(longest + 255) / 256, 256, 0, stream>>>(next, now, h, w);
    return cudaGetLastError();
}
"""

CUBE = """
__global__ void inner(float* next, const float* now, int d, int h, int w) {
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (z < 1 || z >= d - 1) return;
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < h - 1; y += gridDim.y * blockDim.y) {
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < w - 1; x += gridDim.x * blockDim.x) {
            if (y < 1 || x < 1) continue;
            const int at = (z * h + y) * w + x;
            next[at] = now[at - 1] + now[at + 1] + now[at - w] + now[at + w] + now[at - h * w] + now[at + h * w];
        }
    }
}

__global__ void edge(float* next, const float* now, int d, int h, int w) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= d * h * w) return;
    const int x = at % w, y = at / w % h, z = at / w / h;
    const bool inside = x > 0 && x < w - 1 && y > 0 && y < h - 1 && z > 0 && z < d - 1;
    if (!inside) next[at] = now[at];
}

extern "C" cudaError_t cube(float* next, const float* now, int d, int h, int w, cudaStream_t stream) {
    inner<<<dim3((w + 3) / 4, (h + 3) / 4, (d + 3) / 4), dim3(4, 4, 4), 0, stream>>>(next, now, d, h, w);
    if (cudaGetLastError() != cudaSuccess) return cudaErrorUnknown;
    edge<<<(d * h * w + 255) / 256, 256, 0, stream>>>(next, now, d, h, w);
    return cudaGetLastError();
}
"""


def test_lines_along_the_border_join_the_points_inside() -> None:
    joined = changes("join_border", HEAT)
    assert joined is not None
    assert joined.count("<<<") == 1
    assert "if (x < w - 1 && y < h - 1 && y >= 1 && x >= 1) {" in joined
    assert "if (y == 0 && x < w) next[y * w + x] = now[y * w + x];" in joined
    # What is read elsewhere is read there.
    assert "if (y == h - 1 && x < w) next[y * w + x] = 0.5f * now[x];" in joined
    assert "if (x == w - 1 && y >= 1 && y < h - 1) next[y * w + x] = now[y * w + x];" in joined


def test_all_elements_but_those_inside_join_them() -> None:
    joined = changes("join_border", CUBE)
    assert joined is not None
    assert joined.count("<<<") == 1
    assert "for (long long z = blockIdx.z; z < d; z += gridDim.z)" in joined
    assert "%" not in joined


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        (HEAT, "next[k] = now[k]", "next[k] = next[w + k]"),  # the border needs what is inside
        (HEAT, "next[k] = now[k]", "next[w + k] = now[k]"),  # not the border: both write there
        (HEAT, "next[k * w] = now", "next[k * w + k] = now"),
        (HEAT, "if (k < w) {", "if (k < w + 3) {"),  # beyond the end of a row lies the next one
        (HEAT, "if (k < w) {", "if (now[k] < 3.0f) {"),
        (HEAT, "k < h - 1) {", "k < h + 1) {"),  # more rows than there are
        (HEAT, "(longest + 255) / 256, 256, 0, stream>>>(next, now, h, w)",
         "(longest + 255) / 256, 256, 0, stream>>>(next, now, w, h)"),
        (HEAT, "(longest + 255) / 256, 256, 0, stream>>>", "(longest + 255) / 256, 256>>>"),  # another stream
        (HEAT, "const int longest", "cudaStreamSynchronize(stream);\n    const int longest"),
        (HEAT, "if (y < 1 || y >= h - 1) return;", "if (y < x0 || y >= h - 1) return;"),
        (CUBE, "at / w % h", "at / h % w"),
        (CUBE, "x > 0 && x < w - 1", "x > 1 && x < w - 1"),  # it writes points inside as well
        (CUBE, "if (at >= d * h * w) return;", "if (at >= d * h + w) return;"),
        (CUBE, "if (!inside) next[at] = now[at];", "next[at] = now[at];"),
    ],
)  # fmt: skip
def test_other_pairs_of_launches_stay_apart(source: str, old: str, new: str) -> None:
    assert old in source
    assert changes("join_border", source.replace(old, new)) is None


def test_a_patch_loads_each_row_once_in_pieces_of_16_bytes() -> None:
    joined = changes("join_border", HEAT)
    patches = changes("point_patches", joined or "")
    assert patches is not None
    assert "if (w % 4 == 0 && (reinterpret_cast<size_t>(now) | reinterpret_cast<size_t>(next)) % 16 == 0) {" in patches
    assert "float near0[6][Width + 2];" in patches  # four rows and one on each side
    assert "inner<4><<<" in patches
    assert "inner<1><<<" in patches


def test_patches_are_deep_along_the_slowest_axis_with_neighbours() -> None:
    patches = changes("point_patches", changes("join_border", CUBE) or "")
    assert patches is not None
    assert "for (long long first = (long long)blockIdx.z * 4; first < d;" in patches
    images = CUBE.replace(" + now[at - h * w] + now[at + h * w]", "")
    patches = changes("point_patches", changes("join_border", images) or "")
    assert patches is not None
    assert "first < h;" in patches


def test_short_elements_are_kept_two_to_a_register() -> None:
    short = HEAT.replace("float", "__nv_bfloat16").replace("0.5f * ", "")
    patches = changes("point_patches", changes("join_border", short) or "")
    assert patches is not None
    assert "alignas(4) __nv_bfloat16 near0[6][Width + 3];" in patches
    assert "inner<8><<<" in patches


ALONE = (
    HEAT[: HEAT.index("__global__ void edge")]
    + """
extern "C" cudaError_t heat(float* next, const float* now, int h, int w, cudaStream_t stream) {
    inner<<<dim3((h + 15) / 16, 64), dim3(16, 16), 0, stream>>>(next, now, h, w);
    return cudaGetLastError();
}
"""
)


def test_points_that_are_left_out_are_not_written() -> None:
    patches = changes("point_patches", ALONE)
    assert patches is not None
    assert "else if (y < " not in patches
    assert "if (made0 >> w2 & 1u)" in patches or "if (made0 >> w & 1u)" in patches


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("next[y * w + x] = now", "next[y * w + x] += now"),
        ("next[y * w + x] = now", "if (now[x] > 0.0f) next[y * w + x] = now"),  # not always written
        ("next[y * w + x] = now", "next[2 * (y * w + x)] = now"),
        ("next[y * w + x] = now", "next[y * w + x] = threadIdx.x + now"),
        ("const float* now", "const double* now"),
        ("if (x < 1) continue;", "if (x < y) continue;"),  # a condition of two indices
        ("const int y", "const unsigned y"),
    ],
)
def test_other_points_have_no_patches(old: str, new: str) -> None:
    assert old in ALONE
    changed = ALONE.replace(old, new)
    if "unsigned" in new:  # without a sign, less than zero is very large
        changed = changed.replace("now[y * w + x - 1]", "(y - 1 < h ? now[y * w + x - 1] : 0.0f)")
    assert changes("point_patches", changed) is None


def test_rows_that_do_not_start_at_a_multiple_go_one_by_one() -> None:
    for old, new in (("next[y * w + x] =", "next[y * w + x + 1] ="), ("next[y * w + x] =", "next[y * w + x + h] =")):
        patches = changes("point_patches", ALONE.replace(old, new))
        assert patches is not None
        assert "inner<1><<<" in patches
        assert "inner<4><<<" not in patches


POOL = """
__global__ void pool(const float* a, float* b, int n, int h, int w, int size, int step) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    for (int p = blockIdx.z; p < n; p += gridDim.z) {
        for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < h; y += gridDim.y * blockDim.y) {
            float sum = 0.0f;
            for (int i = 0; i < size; ++i) {
                for (int j = 0; j < size; ++j) {
                    const int row = y * step + i, col = x * step + j;
                    if (row < h && col < w) sum += a[(p * h + row) * w + col];
                }
            }
            b[(p * h + y) * w + x] = sum;
        }
    }
}

extern "C" cudaError_t pooled(const float* a, float* b, int n, int h, int w, int size, int step, cudaStream_t stream) {
    pool<<<dim3((w + 15) / 16, (h + 15) / 16, n), dim3(16, 16), 0, stream>>>(a, b, n, h, w, size, step);
    return cudaGetLastError();
}
"""


def test_windows_of_four_rows_are_tested_together() -> None:
    rows = changes("march_rows", POOL)
    assert rows is not None
    windows = changes("fixed_window", rows)
    assert windows is not None
    assert "template <int window_size, int window_step>" in windows
    assert "pool<3, 1><<<" in windows
    assert "pool<0, 0><<<" in windows
    # A row beyond the end sends all four the slow way, before anything of it is looked at.
    assert "if (y >= h) {\n                    whole_window = false;\n                    break;" in windows
    # That way each cell is tested, and all four load before the first stores.
    assert "const bool counts_3 = counts_2 && !(y_3 >= h);" in windows
    assert windows.index("sum_3 += a[") < windows.index("b[(p * h + y_0) * w + x] = sum_0;")


def test_rows_that_load_before_their_windows_stay_in_their_order() -> None:
    rows = changes("march_rows", POOL.replace("float sum = 0.0f;", "float sum = a[y];"))
    windows = changes("fixed_window", rows or "")
    assert windows is not None
    assert "if (y >= h) break;" in windows
    assert "counts_3" not in windows


def largest(statement: str) -> str:
    rows = changes(
        "march_rows",
        POOL.replace("sum = 0.0f", "top = -INFINITY")
        .replace("= sum;", "= top;")
        .replace("sum += a[(p * h + row) * w + col]", statement),
    )
    return changes("fixed_window", rows or "") or ""


def test_the_extreme_of_a_row_serves_several_windows() -> None:
    windows = largest("top = fmaxf(top, a[(p * h + row) * w + col])")
    assert (
        "row_extreme = j == 0 ? a[(p * h + row) * w + col] : fmaxf(row_extreme, a[(p * h + row) * w + col]);" in windows
    )
    assert "if (known_size > 0) top = fmaxf(top, row_extreme);" in windows


@pytest.mark.parametrize(
    "statement",
    [
        "top = fmaxf(top, top + a[(p * h + row) * w + col])",  # it depends on those before
        "top += fmaxf(top, a[(p * h + row) * w + col])",
        "top = fmaxf(a[(p * h + row) * w + col], 0.5f)",
        "top = top + a[(p * h + row) * w + col]",  # rounded at each step
    ],
)
def test_what_depends_on_its_order_keeps_it(statement: str) -> None:
    windows = largest(statement)
    assert "whole_window" in windows
    assert "row_extreme" not in windows
