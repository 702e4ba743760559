"""Options, failures told apart, and what ptxas says; with nvcc where there is one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Contract, array_in, array_out, size
from cudamaster.tools.device.cuda import nvcc as module
from cudamaster.tools.device.cuda.nvcc import classify_failure, nvcc_build, nvcc_options, parse_resources
from cudamaster.tools.device.cuda.toolkit import Toolkit, find_nvcc
from cudamaster.tools.device.limited import STARVED
from cudamaster.tools.profile.ncu_csv import instance_name
from cudamaster.tools.records import BuildSpec, Candidate

CONTRACT = Contract(entry="f", arguments=(array_in("x", "N"), array_out("y", "N"), size("N")))
SOURCE = """template <int U> __global__ void scale(const float* x, float* y, int n) {
  __shared__ float s[32];
  s[threadIdx.x % 32] = x[0];
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = s[3];
}
namespace { __global__ void fill(float* y) { y[0] = 1; } }
extern "C" size_t f_workspace_bytes(int n) { return 0; }
extern "C" cudaError_t f(const float* x, float* y, int n, void* w, size_t wb, cudaStream_t s) {
  scale<4><<<1, 32, 0, s>>>(x, y, n);
  fill<<<1, 1, 0, s>>>(y);
  return cudaGetLastError();
}
"""


def test_every_field_of_a_spec_reaches_the_command() -> None:
    spec = BuildSpec(
        standard="c++20", optimization="-O2", arch="sm_90a", fast_math=True, max_registers=64, unroll=8,
        defines={"TILE": 32, "ALPHA": -1},
    )  # fmt: skip
    assert nvcc_options(spec, "sm_80") == (
        "-std=c++20", "-O2", "-gencode=arch=compute_90a,code=sm_90a", "-Xptxas=-O2", "--use_fast_math",
        "-maxrregcount=64", "-DUNROLL=8", "-DALPHA=-1", "-DTILE=32",
    )  # fmt: skip
    assert nvcc_options(BuildSpec(), "sm_86") == ("-std=c++17", "-O3", "-gencode=arch=compute_86,code=sm_86")


@pytest.mark.parametrize(
    ("output", "code", "failure"),
    [
        ('candidate.cu(7): error: identifier "foo" is undefined', 2, "source"),
        ("candidate.cu:1:10: fatal error: nothing.h: No such file or directory", 1, "source"),
        ("candidate.cu(1): error: #error directive: No space left on device", 2, "source"),
        ("candidate.o: in function `f': undefined reference to `nowhere()'", 1, "source"),
        ("ptxas error   : Entry function 'k' uses too much shared data (0x61a7c bytes, 0xc000 max)", 255, "source"),
        ("compiling took more than 180 s and was stopped", None, "source"),
        (f"compiling took more than 180 s and was stopped; {STARVED} for 9.1 s of them", None, "infra"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_999'", 1, "arch"),
        ("ptxas x.ptx, line 54; error : Instruction 'wgmma.fence' not supported on .target 'sm_90'", 255, "arch"),
        ("ptxas x.ptx, line 9; error : Feature '.bulk' requires .target sm_90 or higher", 255, "arch"),
        ("nvcc fatal   : Unknown option '--banana'", 1, "option"),
        ("nvcc fatal   : 'x' is not in 'keyword=value' format", 1, "option"),
        ("fatal error: error writing to /tmp/x.o: No space left on device", 1, "infra"),
        ("sh: 1: exec: nvcc: not found", 127, "infra"),
        ("/usr/bin/ld: cannot find -lcudart_static: No such file or directory", 1, "infra"),
        ("", -9, "infra"),
        ("", 1, "infra"),
        ("\ng++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", 1, "infra"),
        ("candidate.cpp:3: error: No space left on device", 1, "source"),
    ],
)
def test_failures_are_told_apart(output: str, code: int | None, failure: str) -> None:
    assert classify_failure(output, code) == failure


def test_resources_of_each_kernel() -> None:
    output = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4tileILi32EEvPKfPfi' for 'sm_90'
ptxas info    : Function properties for _Z4tileILi32EEvPKfPfi
    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 64 bytes cumulative stack size, 8448 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 3.017 ms
ptxas info    : Function properties for _Z6helperf
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
    tile, plain = parse_resources(output)
    assert tile.kernel == "tile<32>"
    assert (tile.registers, tile.barriers, tile.shared_bytes) == (40, 1, 8448)
    assert (tile.stack_bytes, tile.spill_store_bytes, tile.spill_load_bytes) == (64, 8, 12)
    assert (plain.kernel, plain.registers, plain.shared_bytes, plain.stack_bytes) == ("plain", 8, 0, 0)


def test_instances_of_a_template_are_told_apart() -> None:
    symbols = ["_ZN4acme3rowIfLi128EEEvPKfPfi", "_ZN4acme3rowIfLi256EEEvPKfPfi"]
    said = "".join(
        f"ptxas info    : Compiling entry function '{symbol}' for 'sm_90'\n"
        f"ptxas info    : Used {registers} registers, used 0 barriers\n"
        for symbol, registers in zip(symbols, (40, 16), strict=True)
    )
    told = {r.kernel: r.registers for r in parse_resources(said)}
    assert told == {"row<float, 128>": 40, "row<float, 256>": 16}


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("void acme::row<float, 128>(float const*, float*, int)", "row<float, 128>"),
        ("void row<float, (int)128, (bool)1>(const float *, float *)", "row<float, 128, 1>"),
        ("void (anonymous namespace)::row<std::pair<int, float>>(int)", "row<std::pair<int, float>>"),
        ("row(float const*)", "row"),
        ("plain", "plain"),
        ("_Z4tilev", "_Z4tilev"),
    ],
)
def test_a_signature_as_the_name_of_an_instance(signature: str, name: str) -> None:
    assert instance_name(signature) == name


def test_names_without_a_demangler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda _: None)
    assert module.demangled(["_Z4tilev"]) == ["_Z4tilev"]


def scripted(folder: Path, script: str) -> Toolkit:
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Toolkit(path, "13.0", folder)


def test_a_failed_build_is_kept_with_command_and_words(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    toolkit = scripted(tmp_path, f"echo x >> {calls}; echo 'candidate.cu(3): error: no'; exit 2")
    builds = [nvcc_build(Candidate(source="x"), CONTRACT, "sm_90", toolkit=toolkit, root=tmp_path) for _ in range(2)]
    assert builds[0] == builds[1]
    assert not builds[0].ok
    assert builds[0].failure == "source"
    assert "-gencode=arch=compute_90,code=sm_90" in builds[0].log
    assert "candidate.cu(3): error: no" in builds[0].log
    assert calls.read_text().count("x") == 1


def test_a_fault_of_the_machine_is_tried_again(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    toolkit = scripted(tmp_path, f"echo x >> {calls}; echo 'No space left on device'; exit 1")
    for _ in range(2):
        build = nvcc_build(Candidate(source="x"), CONTRACT, "sm_90", toolkit=toolkit, root=tmp_path)
        assert build.failure == "infra"
        assert not build.checked_with_nvcc
    assert calls.read_text().count("x") == 2


@pytest.mark.parametrize(
    ("does", "failure"), [("sleep 1000", "infra"), ("for i in 1 2 3; do while :; do :; done & done; wait", "source")]
)
def test_a_compiler_that_never_ends_is_stopped(
    does: str, failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPILE_SECONDS", 0.5)
    toolkit = scripted(tmp_path, does)
    build = nvcc_build(Candidate(source="x"), CONTRACT, "sm_90", toolkit=toolkit, root=tmp_path)
    assert build.failure == failure
    assert "compiling took more than" in build.log


def test_a_flood_of_diagnostics_is_cut(tmp_path: Path) -> None:
    toolkit = scripted(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' 'a'; echo the end; exit 2")
    build = nvcc_build(Candidate(source="x"), CONTRACT, "sm_90", toolkit=toolkit, root=tmp_path)
    assert len(build.log) < 70_000
    assert build.log.endswith("the end\n")


needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@pytest.mark.nvcc
@needs_nvcc
def test_a_candidate_exports_its_entries_alone(tmp_path: Path) -> None:
    build = nvcc_build(Candidate(source=SOURCE), CONTRACT, "sm_90", root=tmp_path)
    assert build.ok, build.log
    assert {r.kernel for r in build.resources} == {"scale<4>", "fill"}
    assert str(tmp_path) not in build.log
    said = subprocess.run(["nm", "-D", "--defined-only", build.library], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in said.stdout.splitlines()}
    assert names == {"f", "f_workspace_bytes", "cudamaster_last_error"}


@pytest.mark.nvcc
@needs_nvcc
@pytest.mark.parametrize(
    ("source", "spec", "failure"),
    [
        (SOURCE.replace("s[3];", "s[3]"), BuildSpec(), "source"),
        pytest.param(
            "void nowhere();\n" + SOURCE.replace("fill<<<", "nowhere(); fill<<<"),
            BuildSpec(),
            "source",
            marks=pytest.mark.slow,
        ),
        pytest.param(SOURCE.replace("cudaError_t f(", "cudaError_t g("), BuildSpec(), "source", marks=pytest.mark.slow),
        (SOURCE, BuildSpec(arch="sm_999"), "arch"),
        (SOURCE.replace("s[3];", 's[3]; asm volatile("wgmma.fence.sync.aligned;");'), BuildSpec(), "arch"),
    ],
    ids=["syntax", "undefined function", "missing entry", "unknown architecture", "instruction of another target"],
)
def test_real_failures(tmp_path: Path, source: str, spec: BuildSpec, failure: str) -> None:
    build = nvcc_build(Candidate(source=source, spec=spec), CONTRACT, "sm_90", root=tmp_path)
    assert (build.ok, build.failure) == (False, failure), build.log


@pytest.mark.nvcc
@needs_nvcc
def test_nvcc_is_asked_for_its_own_root() -> None:
    toolkit = find_nvcc()
    assert toolkit is not None
    assert (toolkit.include / "cuda_runtime.h").is_file()
