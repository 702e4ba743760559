"""The screen: what is forbidden is found however it is dressed, and honest CUDA passes."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.tools.judge.screen import screen
from cudamaster.tools.judge.unchanged import unchanged

DOT = load_task("dot_product")
SOURCE = DOT.source(Precision.FP32)


def violations(addition: str) -> list[str]:
    return [v.what for v in screen(SOURCE + "\n" + addition, DOT.contract)]


@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize("precision", Precision)
def test_every_baseline_is_allowed(name, precision):
    task = load_task(name)
    assert screen(task.source(precision), task.contract) == ()


@pytest.mark.parametrize(
    "text",
    [
        "#include <cub/cub.cuh>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;",
        "#include <mma.h>\n#include <cuda_pipeline.h>\n#include <cuda/std/limits>\n#include <type_traits>",
        "// cudaMalloc, dlopen(...) and #include <cstdlib> in a comment",
        '/* system("rm") \n cudaFree */',
        'const char* text = "cudaMalloc system() #include <x>";',
        "__device__ int open_cells; __device__ int reader(int read) { return read; }",
        "struct S { int at(); }; int f(S s, S* p) { return s.open() + p->read(); }",
        'template <int T> __global__ void k() { extern __shared__ float tile[]; asm volatile("bar.sync 0;"); }',
        "void g(cudaStream_t s, float* a, float* b) { cudaMemcpyAsync(a, b, 4, cudaMemcpyDeviceToDevice, s); }",
        "int h() { int n; cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0); return n; }",
        "__device__ int separator = 1'000'000; // it's fine",
        "__device__ void write(float* p, int i) { p[i] = 0; } __global__ void k(float* p) { write(p, 0); }",
        "__device__ float current, curve, cube(float x);",
        "#include <cuda.h>\n#include <cudaTypedefs.h>\n#include <cuda/barrier>\n#include <cuda/ptx>\n"
        "void* f() { void* p = 0; cudaDriverEntryPointQueryResult r; "
        'cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &p, cudaEnableDefault, &r); return p; }',
        "void f(CUtensorMap* m, PFN_cuTensorMapEncodeTiled cuTensorMapEncodeTiled) { cuTensorMapEncodeTiled(m); }",
        'asm volatile("ld.global.nc.v4.f32 {%0, %1}, [%2];" : : "r"(x)); asm("griddepcontrol.wait;");',
        'asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; }" : : "r"(x)); asm("exit;");',
        "void f(cudaStream_t s, void** a) { cudaLaunchCooperativeKernel(0, 1, 1, a, 0, s); cudaFuncSetAttribute(0, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, 99); cudaLaunchConfig_t c; cudaLaunchKernelEx(&c, 0); }",
    ],
)
def test_honest_code_passes(text):
    assert violations(text) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("void f() { cudaDeviceSynchronize(); }", "cudaDeviceSynchronize"),
        ("void f() { cudaStreamSynchronize(0); }", "cudaStreamSynchronize"),
        ("void f(void** p) { cudaMalloc(p, 4); }", "cudaMalloc"),
        ("void f(void** p) { cudaMallocAsync(p, 4, 0); }", "cudaMallocAsync"),
        ("void f(void** p) { cuda\\\nMalloc(p, 4); }", "cudaMalloc"),
        ("void f(float* a) { float z = 0; cudaMemcpy(a, &z, 4, cudaMemcpyHostToDevice); }", "cudaMemcpy"),
        (
            "void f(float* a, cudaStream_t s) { float z = 0; cudaMemcpyAsync(a, &z, 4, cudaMemcpyHostToDevice, s); }",
            "cudaMemcpyAsync",
        ),
        (
            "void f(float* a, cudaStream_t s) { float z; cudaMemcpyAsync(a, &z, 4, cudaMemcpyDefault, s); }",
            "cudaMemcpyDefault",
        ),
        ("void f() { cudaStream_t s; cudaStreamCreate(&s); }", "cudaStreamCreate"),
        ("void f() { cudaGraphLaunch(0, 0); }", "cudaGraphLaunch"),
        ("void f() { cuLaunchKernel(); }", "cuLaunchKernel"),
        ("void f() { cublasSgemm(); }", "cublasSgemm"),
        ("#include <cublas_v2.h>", "#include <cublas_v2.h>"),
        ("#include <thread>", "#include <thread>"),
        ("#include <cstdlib>", "#include <cstdlib>"),
        ('#include "../secret.h"', "#include <../secret.h>"),
        ("#define H <cstdlib>\n#include H", "#include H"),
        ("#  include_next <math.h>", "# include_next <math.h>"),
        ('extern "C" void* dlsym(void*, const char*); void f() { dlsym(0, "x"); }', "dlsym"),
        ('extern "C" int fork(); int f() { return fork(); }', "fork"),
        ('extern "C" long write(int, const void*, long); void f() { write(1, 0, 0); }', "write"),
        ('extern "C" int system(const char*); int f() { return system /* */ ("ls"); }', "system"),
        ("#define CAT(a, b) a##b\nvoid f(void** p) { CAT(cuda, Malloc)(p, 4); }", "##"),
        ("__attribute__((constructor)) void f() {}", "__attribute__((constructor"),
        ("void f() { std :: thread t; }", "std :: thread"),
        ("cudaStreamAttrValue v; void f() { v.accessPolicyWindow.num_bytes = 1; }", "accessPolicyWindow"),
        ("#define cudaGetLastError() cudaSuccess", "#define cudaGetLastError"),
        ("void f() { exit(0); }", "exit"),
        (r"void f(void** p) { \u0063udaMalloc(p, 4); }", r"\u0063"),
        ("%:include <cublas_v2.h>", "#include <cublas_v2.h>"),
        ("auto p = &dlsym;", "dlsym"),
        ("__managed__ float shared_with_host;", "__managed__"),
        ('void f(void** p) { cudaGetDriverEntryPoint("cuMemAlloc", p, 0, 0); }', "cudaGetDriverEntryPoint"),
        (
            'const char* n = "cuMemAlloc"; void f(void** p) { cudaGetDriverEntryPoint(n, p, 0, 0); }',
            "cudaGetDriverEntryPoint",
        ),
        ("auto g = cudaGetDriverEntryPoint;", "cudaGetDriverEntryPoint"),
        ('extern "C" int quiet() __asm__("dlsym"); ', '__asm__("dlsym");'),
        ('void f() { asm volatile("syscall" : : "a"(57)); }', 'asm volatile("syscall" : : "a"(57));'),
        (r'asm("nop; .incbin \"/etc/passwd\"");', r'asm("nop; .incbin \"/etc/passwd\"");'),
        ("#include <cuda/stream_ref>", "#include <cuda/stream_ref>"),
    ],
)
def test_forbidden_code_is_named(text, what):
    assert what in violations(text)


def test_a_violation_knows_its_line():
    found = screen(SOURCE + "\n\nvoid f() {\n  cudaDeviceSynchronize();\n}", DOT.contract)
    assert [v.line for v in found] == [SOURCE.count("\n") + 4]


def test_a_missing_entry_is_named():
    found = screen(SOURCE.replace("dot_product_workspace_bytes", "other"), DOT.contract)
    assert [v.what for v in found] == ["dot_product_workspace_bytes"]
    commented = "// dot_product(\n" + SOURCE.replace("cudaError_t dot_product(", "cudaError_t other(")
    assert [v.what for v in screen(commented, DOT.contract)] == ["dot_product"]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda s: "/* hello */\n" + s.replace("\n", "\n\n"), True),
        (lambda s: s.replace("    ", "\t").replace(" = ", "="), True),
        (lambda s: s.replace("256", "128"), False),
        (lambda s: s.replace("sum", "total"), False),
    ],
)
def test_unchanged_looks_at_tokens_only(change, same):
    assert unchanged(change(SOURCE), SOURCE) is same
