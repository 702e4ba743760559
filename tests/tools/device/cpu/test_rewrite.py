from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.tools.device.cpu.rewrite import mask, rewrite

KERNEL = "__global__ void k(float* p, int n) { p[n] = 0; }\n"


def host(body: str) -> str:
    result = rewrite(KERNEL + body)
    assert result.refusals == ()
    return result.text


def test_launch_becomes_a_call_and_lines_stay() -> None:
    source = KERNEL + "void f(float* p, cudaStream_t s) {\n    k<<<dim3(1,\n  2), 32, 0, s>>>(p,\n  0);\n}\nint last;\n"
    text = rewrite(source).text
    assert "<<<" not in text
    assert "::cpusim::configure(CPUSIM_TEXT(k), __LINE__, ::cpusim::address_of(k), dim3(1," in text
    assert "::cpusim::Zero{}" in text
    lines = text.split("\n")
    assert lines[0] == '#line 1 "candidate.cu"'
    assert lines[source[: source.index("int last")].count("\n") + 1] == "int last;"


@pytest.mark.parametrize(
    "launch",
    [
        "t<float, 4><<<1, 32>>>(p)",
        "ns::t<(A > B)><<<g(a, b), 32>>>(p)",
        "(*f)<<<1, 1>>>()",
        "table[i]<<<1, 1>>>(p, NULL)",
    ],
)
def test_launches_of_many_forms(launch: str) -> None:
    assert "<<<" not in host(f"void f() {{ {launch}; }}\n")


def test_launch_inside_a_macro() -> None:
    text = host("#define GO(K, ...) \\\n    K<<<1, 32>>>(__VA_ARGS__)\nvoid f(float* p) { GO(k, p, 1); }\n")
    assert "CPUSIM_TEXT(K)" in text
    assert text.count("\\\n") == 1


def test_launch_text_in_comments_and_strings_stays() -> None:
    body = '// k<<<1, 2>>>(p)\nconst char* s = "k<<<1, 2>>>(p)"; /* __shared__ float x; asm("") */\n'
    assert body in host(body)


@pytest.mark.parametrize(
    ("declaration", "wanted"),
    [
        ("__shared__ float s[32][33];", "typedef float s__t[32][33];"),
        ("__shared__ __align__(16) T tile[N];", "((16) > alignof(tile__t) ? (16) : alignof(tile__t))"),
        ("volatile __shared__ int a, b[4];", "typedef volatile int b__t[4];"),
        ("extern __shared__ unsigned char raw[];", "raw__t& raw = *(raw__t*)::cpusim::dynamic_shared();"),
        ("static __shared__ struct { int x, y; } pair;", "typedef struct { int x, y; } pair__t;"),
        ("alignas(128) extern __shared__ float d[][8];", "typedef float d__t[][8];"),
    ],
)
def test_shared_declarations(declaration: str, wanted: str) -> None:
    text = host(f"template <class T, int N> __global__ void q(T* p) {{\n    {declaration}\n    p[0] = 0;\n}}\n")
    assert wanted in text
    assert "__shared__" not in text


REFUSED = {
    'asm volatile("bar.sync 0;");': "inline PTX",
    "nvcuda::wmma::fill_fragment(f, 0.0f);": "wmma",
    "cub::BlockReduce<float, 32> r;": "CUB",
    "cuda::barrier<cuda::thread_scope_block> b;": "libcu++",
    "k<<<1, 1>>>(p, 0);": "dynamic parallelism",
    "float v = tex1Dfetch<float>(t, 0);": "textures",
    "__pipeline_commit();": "__pipeline_",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_refused_by_name_and_line(statement: str) -> None:
    result = rewrite(f"#include <cuda_runtime.h>\n__global__ void q(float* p) {{\n    {statement}\n}}\n")
    assert [(r.line, REFUSED[statement] in r.construct) for r in result.refusals] == [(3, True)]
    assert result.text == ""


@pytest.mark.parametrize(
    "header", ["cub/cub.cuh", "mma.h", "cuda/pipeline", "cuda/barrier", "thrust/sort.h", "cublas_v2.h"]
)
def test_refused_headers(header: str) -> None:
    result = rewrite(f"#include <cuda_runtime.h>\n#include <{header}>\n{KERNEL}")
    assert [(r.line, r.construct) for r in result.refusals] == [(2, f"header <{header}>")]


def test_code_for_a_gpu_only_is_not_refused() -> None:
    body = '#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\nasm("x;");\n#else\nint y;\n#endif\n'
    body += 'void e() { asm volatile("" ::: "memory"); }\n'
    assert rewrite(KERNEL + body).refusals == ()


def test_kernels_lines_and_restrict() -> None:
    source = 'extern "C" {\n__global__ void __launch_bounds__(256, 2)\na(float* __restrict__ p) {}\n}\n'
    source += "template <int N>\n__global__\nvoid b(float* p) {}\n"
    result = rewrite(source)
    assert result.kernels == {"a": 3, "b": 7}
    assert result.unaliased == {"a"}


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "corpus").glob("*.cu")), ids=lambda path: path.stem)
def test_a_broken_file_never_raises(path: Path) -> None:
    source = path.read_text()
    for k in range(40):
        cut = len(source) * k // 40
        rewrite(source[:cut])
        rewrite(source[:cut] + source[cut + 7 :])


def test_mask_keeps_length_and_lines() -> None:
    text = 'a /* x\n y */ "s//\\"t" \'c\' 1\'000 // end\nR"(raw " )" b'
    masked = mask(text)
    assert len(masked) == len(text)
    assert masked.count("\n") == text.count("\n")
    assert "x" not in masked
    assert "end" not in masked
    assert masked.endswith(" b")


LOOPS = {
    "for (int i = threadIdx.x; i < n; i += blockDim.x * gridDim.x) p[i] = 0;": True,
    "for (int i = 0; i < n; i += stride) for (int d = 16; d > 0; d /= 2) p[i] += d;": True,
    "for (int i = 0; i < n; ++i) p[i] = 0;": False,
    "for (int i = 0; i < n; i += 32) p[i] = 0;": False,
    "for (int i = 0; i < n; i += TILE) p[i] = 0;": False,
    "for (int i = 0; i < n; i += stride) for (int k = 0; k < 4; k++) p[i] += k;": False,
    "p[n] = 0;": False,
}


@pytest.mark.parametrize("body", LOOPS)
def test_kernels_whose_loops_step_by_a_variable_are_known(body: str) -> None:
    source = f"__global__ void k(float* p, int n, int stride) {{ {body} }}\n"
    assert rewrite(source).rolled == ({"k"} if LOOPS[body] else set())
