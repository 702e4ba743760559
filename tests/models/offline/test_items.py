"""Blocks whose first thread computes what all the others wait for."""

from __future__ import annotations

import re

import pytest
from cudamaster.models.offline.catalog import rule_named
from cudamaster.models.offline.rule import Setting
from cudamaster.models.offline.syntax import Source


def changes(rule: str, source: str) -> str | None:
    found = rule_named(rule)
    assert found is not None
    return found.changes(Source(source), Setting())


WEIGHTED = """#include <cuda_runtime.h>
__global__ void weighted(float* out, float* norm, const float* a, const float* w, int m) {
    __shared__ float scale;
    if (threadIdx.x == 0) {
        const float weight = w[blockIdx.x];
        scale = 1.0f / weight;
        norm[blockIdx.x] = weight;
    }
    __syncthreads();
    const int row = blockIdx.x * m;
    for (int i = threadIdx.x; i < m; i += blockDim.x) out[row + i] = scale * a[row + i];
}
extern "C" size_t f_workspace_bytes(int n, int m) { return 0; }
extern "C" cudaError_t f(float* out, float* norm, const float* a, const float* w, int n, int m,
                         void* workspace, size_t bytes, cudaStream_t stream) {
    weighted<<<n, 128, 0, stream>>>(out, norm, a, w, m);
    return cudaGetLastError();
}
"""


def test_items_that_lie_one_behind_the_other_are_tiled() -> None:
    changed = changes("pack_items", WEIGHTED)
    assert changed is not None
    assert "(size_t)(out) | (size_t)(a)) % 16 == 0 && (m) % 4 == 0" in changed
    assert "norm[item] = weight;" in changed
    assert "weighted<4, 2><<<" in changed
    assert "weighted<1, 2><<<" in changed, "rows that are not aligned go one by one"
    assert changed.index("a_held[turn] = ") < changed.index("float weight = w[item]"), "loads first"
    assert changes("pack_items", changed) is None


def test_items_with_a_barrier_are_packed() -> None:
    changed = changes("pack_items", WEIGHTED.replace("blockIdx.x * m", "blockIdx.x * (m + 1)"))
    assert changed is not None
    assert "__syncthreads" not in changed
    assert "__shared__" not in changed
    assert "if (threadIdx.x == 0) norm[item] = weight;" in changed
    assert "dim3(rows_of_block > 1 ? 32 : 128, rows_of_block)" in changed
    assert changes("pack_items", changed) is None
    wide = changes("vectorize", changed)
    assert wide is not None
    assert "threadIdx.y" in wide


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale * a[row + i]", "scale * norm[blockIdx.x] * a[row + i]"),  # it reads what the first thread stored
        ("norm[blockIdx.x] = weight;", "norm[blockIdx.x] += weight;"),  # not to be done twice
        ("norm[blockIdx.x] = weight;", "atomicAdd(&norm[blockIdx.x], weight);"),
        ("out[row + i] =", "out[row + m - i] ="),  # not in the order that is proved
        ("__syncthreads();", "__syncthreads(); if (w[0] > 2.0f) return;"),
        ("scale = 1.0f / weight;", "for (int k = 0; k < m; ++k) scale = w[k];"),  # long work for every thread
        ("int row = blockIdx.x * m", "int row = gridDim.x * m"),  # it knows how many blocks there are
        ("<<<n, 128, 0, stream>>>", "<<<dim3(n, 2), 128, 0, stream>>>"),
    ],
)
def test_blocks_that_need_their_barrier_keep_it(old: str, new: str) -> None:
    assert old in WEIGHTED
    assert changes("pack_items", WEIGHTED.replace(old, new)) is None


# --- rows of columns -------------------------------------------------------------------------------------------------

TURNED = """#include <cuda_runtime.h>
__global__ void turned(float* out, const float* a, int rows, int cols) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * cols) return;
    const int col = at % cols, row = at / cols;
    const float by = a[at];
    out[at] = by * powf(0.5f, (float)col) + (float)row;
}
extern "C" size_t f_workspace_bytes(int rows, int cols) { return 0; }
extern "C" cudaError_t f(float* out, const float* a, int rows, int cols,
                         void* workspace, size_t bytes, cudaStream_t stream) {
    turned<<<(rows * cols + 255) / 256, 256, 0, stream>>>(out, a, rows, cols);
    return cudaGetLastError();
}
"""


def test_the_next_row_is_loaded_while_one_is_computed() -> None:
    changed = changes("hoist_columns", TURNED)
    assert changed is not None
    assert changed.index("next_by = a[") < changed.index("powf("), "loads are on their way before anything dear"
    assert changed.count("next_by = a[") == 2
    assert "const float by = next_by;" in changed


def test_a_row_that_is_its_own_remainder_is_not_divided() -> None:
    changed = changes("hoist_columns", TURNED.replace("(float)row;", "(float)(row % rows);"))
    assert changed is not None
    assert re.search(r"\((\w+) < rows \? \1 : \1 % rows\)", changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("const float by = a[at];", "if (row == 3) continue;\n    const float by = a[at];"),
        ("const float by = a[at];", "const float by = row > 0 ? out[at] : 0.0f;"),  # what the kernel writes
        ("const float* a,", "const volatile float* a,"),
        ("(out, a, rows", "(out, out, rows"),
    ],
)
def test_a_load_that_could_see_a_store_stays_in_its_row(old: str, new: str) -> None:
    assert old in TURNED
    changed = changes("hoist_columns", TURNED.replace(old, new))
    assert changed is None or "next_by" not in changed


# --- what passes through once ----------------------------------------------------------------------------------------

PASSED = """#include <cuda_runtime.h>
__global__ void scaled(float* out, const float* a, const float* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * b[0] + b[i];
}
extern "C" size_t f_workspace_bytes(int n) { return 0; }
extern "C" cudaError_t f(float* out, const float* a, const float* b, int n,
                         void* workspace, size_t bytes, cudaStream_t stream) {
    scaled<<<(n + 255) / 256, 256, 0, stream>>>(out, a, b, n);
    return cudaGetLastError();
}
"""


def test_what_nothing_reads_again_makes_room_for_what_is_written() -> None:
    changed = changes("vectorize", PASSED)
    assert changed is not None
    assert "load_once(&reinterpret_cast<const Vector<float, 4>*>(a)[" in changed
    assert "= reinterpret_cast<const Vector<float, 4>*>(b)[" in changed, "another place of b is read as well"
