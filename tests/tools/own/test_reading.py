"""From a `.cu` file to its launcher, to what the launcher needs, and to what its parameters are for."""

from __future__ import annotations

from pathlib import Path

import cudamaster
import pytest
from cudamaster.tools.own.cpp import Source
from cudamaster.tools.own.errors import NotATask
from cudamaster.tools.own.extract import Extract, extract
from cudamaster.tools.own.flatten import flatten
from cudamaster.tools.own.guess import guess
from cudamaster.tools.own.launcher import find_launcher

EXAMPLES = Path(cudamaster.__file__).parent / "examples"

KERNELS = """
#include <cstdio>
__global__ void gemm(float* C, const float* A, const float* B, int M, int N, int K, float alpha, float beta) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0;
        for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
        C[row * N + col] = alpha * acc + beta * C[row * N + col];
    }
}
void launch_gemm(float* C, const float* A, const float* B, int M, int N, int K, float alpha, float beta) {
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    gemm<<<grid, block>>>(C, A, B, M, N, K, alpha, beta);
}
__global__ void hist(int* bins, const int* x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1);
}
void launch_hist(int* bins, const int* x, int n, int nbins) {
    cudaMemset(bins, 0, nbins * sizeof(int));
    hist<<<64, 256>>>(bins, x, n);
}
__constant__ float w[3] = {0.25f, 0.5f, 0.25f};
__global__ void blur(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = w[0] * in[i - 1] + w[1] * in[i] + w[2] * in[i + 1];
    else if (i < n) out[i] = in[i];
}
void launch_blur(float* out, const float* in, int n) { blur<<<(n + 127) / 128, 128>>>(out, in, n); }
__global__ void partial(float* p, const float* x, int n) {
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) v += x[i];
    atomicAdd(&p[blockIdx.x], v);
}
__global__ void total(float* out, const float* p) { float v = 0; for (int i = 0; i < 64; i++) v += p[i]; *out = v; }
void launch_sum(float* out, float* scratch, const float* x, int n, cudaStream_t s) {
    cudaMemsetAsync(scratch, 0, 64 * sizeof(float), s);
    partial<<<64, 256, 0, s>>>(scratch, x, n);
    total<<<1, 1, 0, s>>>(out, scratch);
}
__global__ void transpose(float* __restrict__ dst, const float* __restrict__ src, int w, int h) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) dst[x * h + y + j] = src[(y + j) * w + x];
}
void launch_transpose(float* dst, const float* src, int w, int h) {
    transpose<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8)>>>(dst, src, w, h);
}
__global__ void gather(float* out, const float* table, const int* rows, int count, int width) {
    int i = blockIdx.x, r = rows[i];
    for (int c = threadIdx.x; c < width; c += blockDim.x) out[i * width + c] = table[r * width + c];
}
void launch_gather(float* out, const float* table, const int* rows, int count, int width, int vocabulary_size) {
    gather<<<count, 128>>>(out, table, rows, count, width);
}
"""

STYLES = """
#include <cooperative_groups.h>
#include <iostream>
namespace cg = cooperative_groups;
#define CHECK(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) { fprintf(stderr, "%s %s %d", cudaGetErrorString(code), file, line); exit(code); }
}
template <unsigned int blockSize>
__global__ void reduce6(const float *g_idata, float *g_odata, unsigned int n) {
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid, gridSize = blockSize * 2 * gridDim.x;
    float s = 0;
    while (i < n) { s += g_idata[i]; if (i + blockSize < n) s += g_idata[i + blockSize]; i += gridSize; }
    sdata[tid] = s;
    if (tid == 0) atomicAdd(g_odata, sdata[0]);
}
void reduce(const float *in, float *out, unsigned int n, int threads) {
    cudaMemset(out, 0, sizeof(float));
    dim3 dimBlock(threads, 1, 1);
    switch (threads) {
        case 256: reduce6<256><<<64, dimBlock, threads * sizeof(float)>>>(in, out, n); break;
        default: std::cerr << "bad" << std::endl; exit(1);
    }
    CHECK(cudaPeekAtLastError());
    CHECK(cudaDeviceSynchronize());
}
template <typename F> __global__ void map(float4* __restrict__ y, const float4* __restrict__ x, long long n4, F f) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n4; i += gridDim.x) {
        float4 v = x[i];
        y[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
    }
}
struct Twice { __device__ float operator()(float v) const { return 2 * v; } };
void twice(float* y, const float* x, int64_t n, cudaStream_t stream) {
    map<<<128, 256, 0, stream>>>(reinterpret_cast<float4*>(y), reinterpret_cast<const float4*>(x), n / 4, Twice{});
}
__global__ void layernorm_kernel(float* out, float* mean, const float* inp, const float* weight, int N, int C) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N) return;
    const float* x = inp + idx * C;
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) sum += x[i];
    if (warp.thread_rank() == 0 && mean != nullptr) __stcs(mean + idx, sum / C);
    float* o = out + idx * C;
    for (int c = warp.thread_rank(); c < C; c += warp.size()) __stcs(o + c, __ldcs(x + c) * weight[c]);
}
static int CEIL_DIV(int a, int b) { return (a + b - 1) / b; }
void layernorm(float* out, float* mean, const float* inp, const float* weight, int B, int T, int C, int block_size) {
    const int N = B * T;
    layernorm_kernel<<<CEIL_DIV(N * 32, block_size), block_size>>>(out, mean, inp, weight, N, C);
}
"""


def taken(text: str, name: str = "", **template: str) -> Extract:
    source = Source(text)
    return extract(source, find_launcher(source, "k.cu", name=name, template=template), "k.cu")


def refusal(text: str, name: str = "") -> str:
    with pytest.raises(NotATask) as caught:
        taken(text, name)
    return str(caught.value)


def guesses(name: str, text: str = KERNELS) -> dict[str, tuple[str, str]]:
    made = taken(text, name)
    return {n: (g.role.value, g.shape) for n, g in guess(Source(made.text), made.launcher).items()}


@pytest.mark.parametrize(
    ("launcher", "wanted"),
    [
        (
            "launch_gemm",
            {
                "C": ("inout", "M * N"),
                "A": ("in", "M * K"),
                "B": ("in", "N * K"),
                "M": ("size", ""),
                "N": ("size", ""),
                "K": ("size", ""),
                "alpha": ("scalar", ""),
                "beta": ("scalar", ""),
            },
        ),
        ("launch_hist", {"bins": ("out", "nbins"), "x": ("in", "n"), "n": ("size", ""), "nbins": ("size", "")}),
        ("launch_blur", {"out": ("out", "n"), "in": ("in", "n"), "n": ("size", "")}),
        ("launch_sum", {"out": ("out", "1"), "scratch": ("out", "64"), "x": ("in", "n"), "n": ("size", "")}),
        (
            "launch_transpose",
            {"dst": ("out", "w * h"), "src": ("in", "w * h"), "w": ("size", ""), "h": ("size", "")},
        ),
    ],
)
def test_roles_and_shapes_are_read_from_the_indices(launcher: str, wanted: dict[str, tuple[str, str]]) -> None:
    assert guesses(launcher) == wanted


def test_styles_of_public_repositories() -> None:
    assert guesses("reduce", STYLES) == {
        "in": ("in", "n"), "out": ("out", "1"), "n": ("size", ""), "threads": ("scalar", ""),
    }  # fmt: skip
    assert guesses("twice", STYLES) == {"y": ("out", "n"), "x": ("in", "n"), "n": ("size", "")}
    assert guesses("layernorm", STYLES) == {
        "out": ("out", "B * T * C"), "mean": ("out", "B * T"), "inp": ("in", "B * T * C"), "weight": ("in", "C"),
        "B": ("size", ""), "T": ("size", ""), "C": ("size", ""), "block_size": ("scalar", ""),
    }  # fmt: skip
    made = taken(STYLES, "reduce")
    assert "exit" not in made.text
    assert "cerr" not in made.text
    assert (made.waits, made.check) == (True, "CHECK")


def test_arrays_of_indices_are_known_and_what_cannot_be_told_is_said() -> None:
    made = taken(KERNELS, "launch_gather")
    found = guess(Source(made.text), made.launcher)
    assert found["out"].shape == "count * width"
    assert found["rows"].shape == "count"
    assert "indexes table" in found["rows"].why
    assert "its indices tell nothing" in found["table"].why
    assert found["vocabulary_size"].why == "by its name"


def test_only_what_the_launcher_needs_is_taken() -> None:
    made = taken(KERNELS, "launch_blur")
    assert "__constant__ float w[3]" in made.text
    assert "gemm" not in made.text
    assert "cstdio" not in made.text
    assert "<<<(n + 127) / 128, 128, 0, stream>>>" in made.text
    assert "launch_blur takes a stream" in made.changes
    assert any("headers left out: cstdio" in change for change in made.changes)


def test_a_header_rich_project_becomes_one_text() -> None:
    project = EXAMPLES / "cmake_project"
    flat = flatten(project / "src/softmax.cu", include=[project / "include"], defines={"ACME_ROWS_PER_BLOCK": "64"})
    assert flat.startswith("#define ACME_ROWS_PER_BLOCK 64\n")
    assert flat.count("inline void check(") == 1
    source = Source(flat)
    made = extract(source, find_launcher(source, "softmax.cu", name="softmax"), "softmax.cu")
    assert "ceil_div" in made.text
    assert "struct Shape" not in made.text
    assert "ACME_CHECK" not in made.text
    assert (made.waits, made.check) == (True, "ACME_CHECK")
    assert "cudaDeviceSynchronize" not in made.text
    assert made.launcher.function.qualified == "acme::softmax"


def test_a_guard_that_does_not_hold_the_whole_header_stays(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("#ifndef A\n#define A\n#endif\nint f();\n#ifdef A\nint g();\n#endif\n")
    (tmp_path / "k.cu").write_text('// #include "a.h"\n#include "a.h"\n#include "a.h"\n#include "missing.h"\n')
    flat = flatten(tmp_path / "k.cu")
    assert flat.count("#ifndef A") == 1
    assert '#include "missing.h"' in flat
    assert flat.startswith('// #include "a.h"\n')


def test_a_program_without_a_launcher_is_told_exactly_what_to_add() -> None:
    text = (EXAMPLES / "single_file/saxpy.cu").read_text()
    told = refusal(text)
    assert "has no launcher" in told
    added = told[told.index("void launch_saxpy(") :]
    assert "int blocks = (count + threads * piece - 1) / (threads * piece);" in added
    assert "saxpy<<<blocks, threads, 0, stream>>>(x, y, a, count, piece);" in added
    assert "int piece" not in added[added.index("{") :]
    made = taken(text.replace("int main(", f"{added}\n\nint main("))
    assert made.launcher.function.name == "launch_saxpy"
    assert "main" not in made.text
    assert "std::" not in made.text


def test_a_kernel_that_nothing_launches_gets_a_proposal_too() -> None:
    told = refusal("template <typename T> __global__ void k(T* y, int n) { y[0] = n; }")
    assert "template <typename T>\nvoid launch_k(T* y, int n, cudaStream_t stream)" in told
    assert "k<T><<<(n + 255) / 256, 256, 0, stream>>>(y, n);" in told
    assert "is this the right file?" in refusal("int f() { return 1; }")


def test_several_launchers_are_listed() -> None:
    told = refusal(KERNELS)
    assert "has 6 launchers; choose one" in told
    assert "--launcher launch_gemm" in told
    assert "no host function 'nothing'" in refusal(KERNELS, "nothing")


LAUNCH = "__global__ void k(float* y) { y[0] = 1; }\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("void f(torch::Tensor y) { k<<<1, 1>>>(y.data_ptr<float>()); }", "a torch::Tensor cannot be passed"),
        ("void f(double* y) { k<<<1, 1>>>((float*)y); }", "arrays of double are not supported"),
        ("void f(float** y) { k<<<1, 1>>>(y[0]); }", "pass one flat array"),
        ("float f(float* y) { k<<<1, 1>>>(y); return 0; }", "it returns float"),
        ("void f(const float* y) { k<<<1, 1>>>((float*)y); }", "no array to write to"),
        ("void f(float* y) { float* t; cudaMalloc(&t, 4); k<<<1, 1>>>(y); }", "allocate outside"),
        ("__constant__ float c[4];\nvoid f(float* y, const float* t) { cudaMemcpyToSymbol(c, t, 16); k<<<1, 1>>>(y); }",
         "pass the table as"),
        ("void f(float* y, const float* x) { cudaMemcpy(y, x, 4, cudaMemcpyHostToDevice); k<<<1, 1>>>(y); }",
         "takes device pointers"),
        ("template <int N> void f(float* y) { k<<<N, 1>>>(y); }", "--template N=VALUE"),
        ("template <typename T, typename U> void f(T* y, const U* x) { k<<<1, 1>>>(y, x); }", "two template types"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_launcher_is_refused_with_what_to_change(text: str, words: str) -> None:
    assert words in refusal(LAUNCH + text)


def test_a_template_argument_that_means_nothing_is_refused() -> None:
    text = LAUNCH + "template <typename T, int N = 4> void f(T* y) { k<<<N, 1>>>(y); }"
    for template, words in (({"T": "float"}, "the precision says what it is"), ({"Z": "3"}, r"'Z' \(it has: T, N\)")):
        with pytest.raises(NotATask, match=words):
            taken(text, **template)


def test_templates_and_helpers_of_the_host() -> None:
    text = """
    template <typename T, int B = 128> __global__ void k(T* y, int n) {
        int i = blockIdx.x * B + threadIdx.x;
        if (i < n) y[i] = T(1);
    }
    template <typename T, int B = 128> void inner(T* y, int n) { k<T, B><<<(n + B - 1) / B, B>>>(y, n); }
    template <typename T> cudaError_t outer(T* y, long n) { inner<T>(y, n); return cudaGetLastError(); }
    """
    made = taken(text)
    assert made.launcher.function.name == "outer"
    assert made.launcher.arguments == ("T",)
    assert "inner<T>(y, n, stream)" in made.text
    assert "B, 0, stream>>>" in made.text
    assert made.launcher.call({"y": "y", "n": "n", "stream": "stream"}, "float") == "outer<float>(y, n, stream)"
    fixed = taken("template <int N> void f(float* y) { k<<<N, 1>>>(y); }\n" + LAUNCH, N="4")
    assert fixed.launcher.arguments == ("4",)
