"""From a file to a task folder: what is written, what is refused, and that its judge can tell right from wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.inputs import draw
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import CaseSet, NoBaseline
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.judge.judge import judge
from cudamaster.tools.judge.screen import screen
from cudamaster.tools.own import init as own_init
from cudamaster.tools.own.errors import NotATask
from cudamaster.tools.own.init import init
from cudamaster.tools.own.origin import read_origin
from cudamaster.tools.records import Build, Candidate
from cudamaster.tools.result.bench_files import bench_files

from .conftest import EXAMPLES

RMS = EXAMPLES / "torch_extension/csrc/rms_norm.cu"
REFERENCE = f"{EXAMPLES / 'torch_extension/reference.py'}:rms_norm"
SOFTMAX: dict[str, Any] = {"include": [EXAMPLES / "cmake_project/include"], "defines": {"ACME_ROWS_PER_BLOCK": "128"}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home for all tests that build: the cpu device's runtime is compiled once."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDAMASTER_HOME", str(folder))
        yield folder


def test_a_template_becomes_a_task_in_both_precisions(tmp_path: Path) -> None:
    made = init(RMS, tmp_path / "rms", reference=REFERENCE, check=False)
    assert made.precisions == ("fp32", "bf16")
    assert not made.differential
    task = load_task(str(tmp_path / "rms"))
    assert (task.name, task.differential) == ("rms", False)
    assert [(a.name, a.role.value, a.shape) for a in task.contract.arguments][:3] == [
        ("out", "out", ("rows * cols",)),
        ("in", "in", ("rows * cols",)),
        ("weight", "in", ("cols",)),
    ]
    for precision, element in ((Precision.FP32, "float"), (Precision.BF16, "__nv_bfloat16")):
        source = task.source(precision)
        assert screen(source, task.contract) == ()
        assert f"launch_rms_norm<{element}>(out, in, weight, rows, cols, eps, stream);" in source
        case = task.in_set(CaseSet.SMALL)[1]
        arrays = draw(task, case, precision, 5)
        want = task.reference(arrays, case, precision)["out"]
        x = arrays["in"].reshape(case.sizes["rows"], case.sizes["cols"])
        exact = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * arrays["weight"]
        assert np.allclose(want.value, exact.ravel())
        assert want.bound is not None


def test_every_guess_is_marked_and_what_the_user_said_is_not(saxpy: Path, tmp_path: Path) -> None:
    said = {"roles": {"piece": "scalar", "y": "inout"}, "shapes": {"y": "count"}, "values": {"piece": "8"}}
    made = init(saxpy, tmp_path / "t", check=False, **said)
    text = (tmp_path / "t/task.py").read_text()
    lines = {line.split('"')[1]: line for line in text.splitlines() if line.startswith("        ")}
    assert "GUESSED" not in lines["piece"]
    assert "GUESSED" not in lines["y"]
    assert "GUESSED" in lines["x"]
    assert {p.name: (p.guessed, p.value) for p in made.parameters if p.role == "scalar"} == {
        "a": (True, 2.0),  # as in main
        "piece": (False, 8.0),
    }
    assert "scalars={'a': 2, 'piece': 8},  # GUESSED" in text
    assert made.differential
    assert load_task(str(tmp_path / "t")).differential


def test_a_result_folder_can_be_written_for_whole_scalars(saxpy: Path, tmp_path: Path) -> None:
    init(saxpy, tmp_path / "t", check=False, roles={"y": "out", "piece": "scalar"}, reference=_doubling(tmp_path))
    files = bench_files(load_task(str(tmp_path / "t")), Precision.FP32)
    assert b"const int piece = 32;" in files["bench.cpp"]


def _doubling(folder: Path) -> str:
    (folder / "double.py").write_text("def f(x, a, count, piece):\n    return 2 * x\n")
    return f"{folder}/double.py:f"


def test_asking_replaces_guessing(saxpy: Path, tmp_path: Path) -> None:
    asked = []

    def ask(name: str, what: str, guess: str) -> str:
        asked.append((name, what))
        return "count" if (name, what) == ("y", "shape") else guess

    made = init(saxpy, tmp_path / "t", check=False, ask=ask)
    assert ("y", "role") in asked
    assert ("y", "shape") in asked
    assert ("a", "shape") not in asked
    assert ("a", "value") in asked
    assert not any(p.guessed for p in made.parameters)


def test_scratch_comes_from_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void a(float* t, const float* x, int n) { int i = threadIdx.x; if (i < n) t[i] = 2 * x[i]; }\n"
        "__global__ void b(float* y, const float* t, int n) { int i = threadIdx.x; if (i < n) y[i] = t[i]; }\n"
        "void f(float* y, float* temp, const float* x, int n) { a<<<1, n>>>(temp, x, n); b<<<1, n>>>(y, temp, n); }\n"
    )
    made = init(tmp_path / "k.cu", tmp_path / "t", check=False)
    assert {p.name: p.role for p in made.parameters}["temp"] == "scratch"
    task = load_task(str(tmp_path / "t"))
    assert [a.name for a in task.contract.arguments] == ["y", "x", "n"]
    source = task.source(Precision.FP32)
    assert "return ((static_cast<size_t>(n)) * sizeof(float) + 255) / 256 * 256;" in source
    assert "reinterpret_cast<float*>(static_cast<char*>(workspace) + 0)" in source
    with pytest.raises(NoBaseline, match="no kernel in bf16"):
        task.source(Precision.BF16)


def test_a_simple_launcher_stands_in_the_entry_itself(saxpy: Path, tmp_path: Path) -> None:
    init(saxpy, tmp_path / "t", check=False)
    source = load_task(str(tmp_path / "t")).source(Precision.FP32)
    assert "launch_saxpy" not in source.partition("#include")[2].replace("run_launch_saxpy", "")
    assert source.rstrip().endswith("return cudaGetLastError();\n}")
    origin = read_origin(tmp_path / "t")
    assert origin is not None
    assert (tmp_path / "t/original" / origin.file).read_text() == saxpy.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"roles": {"z": "in"}}, "no parameter 'z'"),
        ({"roles": {"x": "input"}}, "none of in, out"),
        ({"shapes": {"x": "count ** 2"}}, "x: shape .* is neither a size"),
        ({"shapes": {"x": "elements"}}, "x: shape .*'elements' is neither a size"),
        ({"shapes": {"x": "import os"}}, "x: shape 'import os' is no expression"),
        ({"values": {"a": "two"}}, "'two' is no number"),
        ({"values": {"x": "3"}}, "value of x: its role is in"),
        ({"include": [Path("/no/such/folder")]}, "-I /no/such/folder: no such folder"),
        ({"reference": "nothing.py:f"}, "FILE.py:FUNCTION"),
        ({"reference": f"{EXAMPLES}/torch_extension/reference.py:g"}, "no function 'g'"),
        ({"reference": REFERENCE, "roles": {"piece": "scalar"}}, "takes 5 arguments.*x, y, a, count, piece|it will be"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(
    saxpy: Path, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    if "reference" in arguments and "piece" in arguments.get("roles", {}):
        saxpy.write_text(saxpy.read_text().replace("int piece, cudaStream_t", "int piece, int more, cudaStream_t"))
    with pytest.raises(NotATask, match=words):
        init(saxpy, tmp_path / "t", check=False, **arguments)
    assert not (tmp_path / "t").exists()


def test_a_folder_with_something_in_it_is_not_touched(saxpy: Path, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/mine").write_text("")
    with pytest.raises(NotATask, match="not an empty folder"):
        init(saxpy, tmp_path / "t", check=False)
    with pytest.raises(NotATask, match="not an empty folder"):
        init(saxpy, saxpy, check=False)


def test_a_place_that_cannot_be_written_is_one_line(saxpy: Path, tmp_path: Path) -> None:
    with pytest.raises(NotATask, match=r"saxpy\.cu/t cannot be written: Not a directory"):
        init(saxpy, saxpy / "t", check=False)


def test_what_goes_wrong_in_between_leaves_nothing(
    saxpy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped:
        name = "cpu"

        def build(self, *_: object) -> Build:
            raise KeyboardInterrupt

    monkeypatch.setattr(own_init, "get_device", lambda name: Stopped())
    with pytest.raises(KeyboardInterrupt):
        init(saxpy, tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_a_header_that_was_not_found_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "cpu"

        def build(self, *_: object) -> Build:
            return Build(ok=False, failure="source", log="identifier f is undefined")

    monkeypatch.setattr(own_init, "get_device", lambda name: Broken())
    (tmp_path / "k.cu").write_text(
        '#include "ops.cuh"\n__global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = f(); }\n'
        "void go(float* y, int n) { k<<<1, 32>>>(y, n); }\n"
    )
    with pytest.raises(NotATask, match=r"(?s)undefined.*headers left out: ops.cuh: say where .* with -I"):
        init(tmp_path / "k.cu", tmp_path / "t")


@pytest.mark.parametrize("before", ["\ufeff", ""])
@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_marks_and_line_endings_of_windows_do_not_get_into_the_kernel(
    saxpy: Path, tmp_path: Path, before: str, ending: str
) -> None:
    init(saxpy, tmp_path / "plain", check=False)
    text = saxpy.read_text()
    saxpy.write_bytes((before + text.replace("\n", ending)).encode())
    init(saxpy, tmp_path / "other", check=False)
    assert (tmp_path / "plain/fp32.cu").read_bytes() == (tmp_path / "other/fp32.cu").read_bytes()


def test_a_launcher_in_a_header_is_sent_to_that_header(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text(
        "__global__ void k(float* y, int n) {}\nvoid f(float* y, int n) { k<<<1, 1>>>(y, n); }\n"
    )
    (tmp_path / "k.cu").write_text('#include "k.cuh"\n')
    with pytest.raises(NotATask, match="in a header of it"):
        init(tmp_path / "k.cu", tmp_path / "t", check=False)


def test_sizes_that_a_kernel_need_not_handle(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(
        "from cudamaster.benchmark.contract import Contract, array_out, size\n"
        "from cudamaster.tools.own.task import own_task\n"
        "TASK = own_task(__file__, Contract(entry='f', arguments=(array_out('y', 'n'), size('n'))), small=[{'n': 4}],\n"
        "    timed=[{'n': 64}], complexity='n', multiple_of=4, legal=lambda sizes: sizes['n'] < 100)\n"
    )
    task = load_task(str(tmp_path))
    case = task.cases[0]
    legal = [task.legal(case.model_copy(update={"sizes": {"n": n}})) for n in (8, 9, 96, 100)]
    assert legal == [True, False, True, False]


@pytest.mark.slow
def test_sizes_at_which_the_original_fails_are_left_out(tmp_path: Path, home: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float* y, const float* x, int n) {\n"
        "    int i = blockIdx.x * 32 + threadIdx.x;\n    y[i] = 2 * x[i];\n}\n"
        "void f(float* y, const float* x, int n) { k<<<(n + 31) / 32, 32>>>(y, x, n); }\n"
    )
    made = init(tmp_path / "k.cu", tmp_path / "t", device="cpu", shapes={"x": "n", "y": "n"})
    assert made.checked.startswith("ran on the cpu device")
    assert "multiple_of=32,  # GUESSED" in (tmp_path / "t/task.py").read_text()


@pytest.mark.slow
def test_the_original_is_tried_and_then_judges_others(tmp_path: Path, home: Path) -> None:
    made = init(EXAMPLES / "cmake_project/src/softmax.cu", tmp_path / "t", device="cpu", **SOFTMAX)
    assert made.checked.startswith("ran on the cpu device at 4 sizes, no race")
    task, device = load_task(str(tmp_path / "t")), CpuDevice()
    source = task.source(Precision.FP32)

    def status(text: str) -> tuple[str, str]:
        verdict = judge(Candidate(source=text), task, Precision.FP32, device, baseline=None).verdict
        return verdict.status.value, verdict.summary

    backwards = source.replace("for (int c = 0; c < cols; ++c) sum +=", "for (int c = cols - 1; c >= 0; --c) sum +=")
    assert backwards != source
    assert status(backwards)[0] == "pass"
    assert "as the original kernel at" in status(backwards)[1]
    for wrong in (
        source.replace("/ sum;", "/ (sum + 1e-4f);"),
        source.replace("for (int c = 0; c < cols; ++c) sum +=", "for (int c = 1; c < cols; ++c) sum +="),
        source.replace("if (row >= rows) return;", "if (row >= rows - 1 && rows > 1) return;"),
    ):
        assert wrong != source
        assert status(wrong)[0] == "wrong"


@pytest.mark.slow
def test_shapes_that_are_too_small_or_too_big_are_noticed(tmp_path: Path, home: Path) -> None:
    file = EXAMPLES / "cmake_project/src/softmax.cu"
    small = init(file, tmp_path / "small", device="cpu", shapes={"probs": "rows"}, **SOFTMAX)
    assert "FAILED" in small.checked
    big = init(file, tmp_path / "big", device="cpu", shapes={"probs": "rows * cols + 5"}, **SOFTMAX)
    assert "were never written" in big.checked
