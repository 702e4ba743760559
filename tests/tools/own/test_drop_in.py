"""Back into the user's file: the launcher keeps its signature, the patch applies, nvcc compiles it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.tools.device.cuda.toolkit import find_nvcc
from cudamaster.tools.own.cpp import Source
from cudamaster.tools.own.drop_in import drop_in, remarks
from cudamaster.tools.own.init import init
from cudamaster.tools.own.launcher import find_launcher

from .conftest import EXAMPLES

INCLUDE = EXAMPLES / "cmake_project/include"


def put_back(source: Path, folder: Path, precision: Precision = Precision.FP32, kernel: str = "") -> dict[str, str]:
    """Return the drop-in of a task whose winner is the adapted original, or `kernel`."""
    init(source, folder, include=[INCLUDE], check=False)
    task = load_task(str(folder))
    return drop_in(task, kernel or task.source(precision), precision)


def compiles(text: str, folder: Path, name: str, *flags: str) -> None:
    toolkit = find_nvcc()
    if toolkit is None:
        pytest.skip("no nvcc")
    (folder / name).write_text(text)
    command = [toolkit.nvcc, "-std=c++17", "-arch=sm_90", f"-I{INCLUDE}", *flags, "-c", name, "-o", "out.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


@pytest.mark.nvcc
def test_a_launcher_that_waits_and_checks_still_does(tmp_path: Path) -> None:
    files = put_back(EXAMPLES / "cmake_project/src/softmax.cu", tmp_path / "t")
    text = files["drop_in/softmax.cu"]
    body = text[text.rindex("void softmax(") :]
    assert "cudamaster_softmax::run_softmax(logits, probs, rows, cols, nullptr, 0, nullptr)" in body
    assert "cudaDeviceSynchronize()" in body
    assert "ACME_CHECK(error);" in body
    assert "cudaPeekAtLastError" in text
    assert text.count("__global__") == 1, "the old kernel is gone: nothing else launched it"
    compiles(text, tmp_path, "softmax.cu")


@pytest.mark.slow
@pytest.mark.nvcc
def test_a_single_file_program_is_patched(saxpy: Path, tmp_path: Path) -> None:
    files = put_back(saxpy, tmp_path / "t")
    text = files["drop_in/saxpy.cu"]
    assert text.count("__global__") == 2, "main launches the old kernel itself, so it stays"
    (tmp_path / "project").mkdir()
    shutil.copy(saxpy, tmp_path / "project/saxpy.cu")
    if shutil.which("patch"):
        subprocess.run(["patch", "-p1"], cwd=tmp_path / "project", input=files["saxpy.patch"], text=True, check=True)
        assert (tmp_path / "project/saxpy.cu").read_text() == text
    compiles(text, tmp_path, "program.cu")


def test_a_launchers_own_int_is_said_to_be_gone(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 1; }\n"
        "int f(float* y, int n) { if (n < 1) return -1; k<<<1, n>>>(y, n); return 0; }\n"
    )
    files = put_back(tmp_path / "k.cu", tmp_path / "t")
    assert "return static_cast<int>(error);" in files["drop_in/k.cu"]
    said = remarks(load_task(str(tmp_path / "t")))
    assert any("f: its int is not looked at; the drop-in returns CUDA's error code" in remark for remark in said)


@pytest.mark.parametrize("before", ["\ufeff", ""])
@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("last", ["\n", ""])
def test_the_patch_applies_to_files_of_any_editor(
    saxpy: Path, tmp_path: Path, before: str, ending: str, last: str
) -> None:
    if shutil.which("patch") is None:
        pytest.skip("no patch")
    text = saxpy.read_text().replace("\nint main(", "\n\f\nint main(").rstrip("\n") + last
    original = (before + text.replace("\n", ending)).encode()
    saxpy.write_bytes(original)
    files = put_back(saxpy, tmp_path / "t")
    command = ["patch", "--binary", "-p1"]
    done = subprocess.run(command, cwd=tmp_path, input=files["saxpy.patch"].encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    made = saxpy.read_bytes()
    assert made == files["drop_in/saxpy.cu"].encode()
    assert made != original
    assert made.count(b"\n") - made.count(b"\r\n") == (0 if ending == "\r\n" else made.count(b"\n"))
    assert made.startswith(before.encode())


@pytest.mark.slow
@pytest.mark.nvcc
@pytest.mark.parametrize("precision", list(Precision))
def test_a_template_gets_a_specialisation(tmp_path: Path, precision: Precision) -> None:
    element = "float" if precision is Precision.FP32 else "__nv_bfloat16"
    files = put_back(EXAMPLES / "torch_extension/csrc/rms_norm.cu", tmp_path / "t", precision)
    text = files["drop_in/rms_norm.cu"]
    assert f"template <>\nvoid launch_rms_norm<{element}>({element}* out, const {element}* in" in text
    assert text.index("template <>") < text.index("template void launch_rms_norm<float>")
    compiles(text, tmp_path, "rms.cu", f"-I{EXAMPLES}/torch_extension/csrc")


@pytest.mark.slow
@pytest.mark.nvcc
def test_workspace_wide_sizes_and_macros(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "#define TILE 3\n"
        "__global__ void k(float* y, size_t n) { size_t i = threadIdx.x; if (i < n) y[i] = TILE; }\n"
        "cudaError_t fill(float* y, size_t n, double unused, cudaStream_t s) {\n"
        "    k<<<1, n, 0, s>>>(y, n);\n    return cudaGetLastError();\n}\n"
        "int tile() { return TILE; }\n"
    )
    kernel = (
        "#include <cuda_runtime.h>\n#define TILE 4\n"
        "__global__ void k(float* y, float* t, int n) { int i = threadIdx.x; t[i] = TILE; if (i < n) y[i] = t[i]; }\n"
        'extern "C" size_t run_fill_workspace_bytes(int n) { return 4 * (size_t)n; }\n'
        'extern "C" cudaError_t run_fill(float* y, int n, float unused, void* work, size_t bytes, cudaStream_t st) {\n'
        "    k<<<1, n, 0, st>>>(y, (float*)work, n);\n    return cudaGetLastError();\n}\n"
    )
    text = put_back(source, tmp_path / "t", kernel=kernel)["drop_in/k.cu"]
    assert "if (n <= 2147483647) {" in text
    assert "cudaMallocAsync(&workspace, workspace_bytes, s)" in text
    assert "static_cast<int>(n), static_cast<float>(unused), workspace, workspace_bytes, s)" in text
    assert text.count('#pragma push_macro("TILE")') == text.count('#pragma pop_macro("TILE")') == 1
    assert "    k<<<1, n, 0, s>>>(y, n);\n    return cudaGetLastError();" in text, "the original takes the rest"
    compiles(text, tmp_path, "k2.cu")


def test_the_drop_in_can_be_made_into_a_task_again(tmp_path: Path) -> None:
    files = put_back(EXAMPLES / "cmake_project/src/softmax.cu", tmp_path / "t")
    (tmp_path / "softmax.cu").write_text(files["drop_in/softmax.cu"])
    made = init(tmp_path / "softmax.cu", tmp_path / "again", launcher="acme::softmax", include=[INCLUDE], check=False)
    assert made.launcher == "acme::softmax"
    source = load_task(str(tmp_path / "again")).source(Precision.FP32)
    assert find_launcher(Source(source), "k.cu", name="acme::softmax").stream


def test_what_was_not_checked_is_said_and_the_benchmarks_tasks_have_no_drop_in(tmp_path: Path) -> None:
    init(EXAMPLES / "cmake_project/src/softmax.cu", tmp_path / "t", include=[INCLUDE], check=False)
    told = " ".join(remarks(load_task(str(tmp_path / "t"))))
    assert "a mistake of the original is kept" in told
    assert "ACME_CHECK evaluates what it checks" in told
    task = load_task("softmax")
    assert (drop_in(task, task.source(Precision.FP32), Precision.FP32), remarks(task)) == ({}, ())
