"""The result folder: what it says, and that its program checks the kernel on its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.tools.device.cpu.build import host_build
from cudamaster.tools.device.cpu.toolchain import INCLUDE, find_compiler, machine_flags, runtime_library
from cudamaster.tools.device.port import DeviceInfo
from cudamaster.tools.records import (
    BuildSpec,
    Candidate,
    CaseEvidence,
    CaseGain,
    EstimatedSpeedup,
    Interval,
    Speedup,
    Verdict,
)
from cudamaster.tools.result.bench_files import DATA_BYTES, bench_files
from cudamaster.tools.result.build_files import build_flags, build_script, cmake_file
from cudamaster.tools.result.bundle import write_bundle
from cudamaster.tools.result.summary import Figure, Summary, figures
from cudamaster.tools.result.verification import verification_text

SPEC = BuildSpec(standard="c++20", fast_math=True, max_registers=64, unroll=4, defines={"TILE": 32})


def test_build_files_hold_every_option_of_the_spec() -> None:
    assert build_flags(SPEC) == ["-std=c++20", "-O3", "--use_fast_math", "-maxrregcount=64", "-DUNROLL=4", "-DTILE=32"]
    script, cmake = build_script(SPEC, "sm_90", "gelu"), cmake_file(SPEC, "sm_90", "gelu")
    for flag in build_flags(SPEC)[1:]:
        assert flag in script
        assert flag in cmake
    assert 'ARCH="${ARCH:-sm_90}"' in script
    assert "CMAKE_CUDA_ARCHITECTURES 90)" in cmake
    assert "cuda_std_20" in cmake
    assert "ARCH:-sm_90a" in build_script(BuildSpec(arch="sm_90a"), "sm_80", "gelu")


@pytest.mark.parametrize("name", task_names())
def test_every_task_has_a_program_and_small_data(name: str) -> None:
    task = load_task(name)
    files = bench_files(task, Precision.BF16)
    assert sum(map(len, files.values())) < DATA_BYTES + 100_000
    program = files["bench.cpp"].decode()
    assert task.contract.prototype(Precision.BF16) in program
    for argument in task.contract.inputs:
        assert f"data/{argument.name}.bin" in files
    for argument in task.contract.outputs:
        expected = np.frombuffer(files[f"data/{argument.name}.expected.bin"])
        bound = np.frombuffer(files[f"data/{argument.name}.bound.bin"])
        assert expected.shape == bound.shape
        assert (bound >= 0).all() or np.isnan(bound).any()


def test_the_program_finds_the_baseline_right_and_a_broken_kernel_wrong(tmp_path: Path) -> None:
    """On the cpu device's own runtime: the program itself needs nothing of it but the names of the CUDA runtime."""
    task, precision = load_task("gelu"), Precision.BF16
    good = task.source(precision)
    broken = good.replace("i < N", "i < N - 1")
    assert broken != good
    write_bundle(tmp_path / "result", bench_files(task, precision))
    runtime, entries = runtime_library(), (task.contract.entry, task.contract.workspace_entry)
    told = []
    for source in (good, broken):
        built = host_build(Candidate(source=source), entries, checked=None)
        assert built.ok, built.log
        program = tmp_path / "bench"
        command = [find_compiler().path, "-O1", "-std=gnu++17", "-w", f"-I{INCLUDE}", "-include", "cuda_runtime.h"]
        command += [*machine_flags(), "-o", program, tmp_path / "result/bench.cpp", built.library, runtime]
        command += [f"-Wl,-rpath,{runtime.parent}", "-ldl", "-lpthread"]
        subprocess.run(command, check=True, timeout=100)
        ran = subprocess.run(
            [program, "3"], cwd=tmp_path / "result", capture_output=True, text=True, timeout=100, check=False
        )
        told.append((ran.returncode, ran.stdout))
    assert told[0][0] == 0, told[0]
    assert "check: ok (0 wrong elements)" in told[0][1]
    assert "time: median" in told[0][1]
    assert told[1][0] == 1
    assert "check: FAIL (1 wrong elements)" in told[1][1]


@pytest.mark.nvcc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
@pytest.mark.parametrize("name", ["gelu", "spmv_csr"])
def test_the_build_script_builds_with_nvcc(tmp_path: Path, name: str) -> None:
    task = load_task(name)
    files = bench_files(task, Precision.BF16)
    script = build_script(BuildSpec(defines={"TILE": 32}), "sm_90", task.contract.entry)
    write_bundle(tmp_path / "result", {**files, "kernel.cu": task.source(Precision.BF16), "build.sh": script})
    subprocess.run(["./build.sh"], cwd=tmp_path / "result", check=True, timeout=300)
    assert (tmp_path / "result/bench").exists()


def test_a_folder_is_replaced_whole_and_what_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".result-abc").mkdir()
    write_bundle(tmp_path / "result", {"a.txt": "1", "sub/run.sh": "#!/bin/sh\necho ran\n"})
    assert subprocess.run([tmp_path / "result/sub/run.sh"], capture_output=True, check=True).stdout == b"ran\n"
    write_bundle(tmp_path / "result", {"b.txt": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert [path.name for path in (tmp_path / "result").iterdir()] == ["b.txt"]


def test_the_verification_says_what_was_not_checked() -> None:
    case = CaseEvidence(case="N=7 a|b", set="small", seed=3, ok=True, worst_ratio=0.25)
    verdict = Verdict(status="pass", summary="right at 1 case", cases=(case,), checked_with_nvcc=True)
    cpu = DeviceInfo(name="cpu", gpu="NVIDIA H200", arch="sm_90", multiprocessors=132, compiler="g++ 12")
    text = verification_text("gelu-fp32", cpu, verdict, verdict, False, ("no sanitizer",))
    for words in ("no sanitizer", "has not run on a GPU", "No time was measured", "in a new process"):
        assert words in text
    assert "not compiled with nvcc" not in text
    cuda = cpu.model_copy(update={"name": "cuda"})
    text = verification_text("gelu-fp32", cuda, verdict.model_copy(update={"checked_with_nvcc": False}), None, True, ())
    assert "not compiled with nvcc" in text
    assert "has not run on a GPU" not in text
    assert "in a new process" not in text


def test_figures_of_a_gpu_and_of_the_model_never_share_a_field() -> None:
    gain = CaseGain(
        case="N=1", set="paper", complexity=1, baseline_us=2, candidate_us=1, ratio=Interval(value=2, low=1.9, high=2.1)
    )
    measured = figures(Speedup(cases=(gain,), geomean=Interval(value=2, low=1.9, high=2.1), weighted=2, efficiency=0.5))
    estimated = figures(EstimatedSpeedup(cases=(gain,), geomean=2, weighted=2))
    assert not measured.keys() & {key for key, value in estimated.items() if value is not None}
    assert measured["speedup"] == Figure(value=2, ci95=(1.9, 2.1), method="cold", set="paper")
    assert estimated["estimated_speedup"] == Figure(value=2, method="cost model", set="paper")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("improved", 0),
        ("no_gain", 0),
        ("waiting_model", 3),
        ("waiting_device", 3),
        ("stopped_budget", 4),
        ("failed", 1),
    ],
)
def test_every_outcome_has_its_exit_code(status: str, code: int) -> None:
    told = {"run": "r", "unit": "u", "task": "t", "precision": "fp32", "device": "cpu", "status": status}
    assert Summary.model_validate(told).exit_code == code
