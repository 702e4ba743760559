"""A host program over a stand-in for the CUDA runtime, and candidates in plain C++: the protocol without any device."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_inout, array_out, scalar, size
from cudamaster.benchmark.task import Case, CaseSet, Task
from cudamaster.tools.device.runner.cache import cached, content_key
from cudamaster.tools.device.runner.client import RunnerProcess
from cudamaster.tools.device.runner.host_program import build_host_program

FAKE = Path(__file__).parent / "fake_cuda"
CONTRACT = Contract(
    entry="scale_add",
    arguments=(
        array_in("x", "N"),
        array_in("k", "2", dtype=DType.I32),
        array_out("y", "N"),
        array_inout("z", "N"),
        array_out("extra", "N", nullable=True),
        scalar("alpha"),
        size("N"),
        scalar("steps", DType.I32),
    ),
)
PROTOTYPE = (
    'extern "C" int scale_add(const float* x, const int* k, float* y, float* z, float* extra, float alpha, int n,'
    " int steps, void* workspace, size_t workspace_bytes, void* stream)"
)
GOOD = """{
  for (int i = 0; i < n; ++i) { y[i] = alpha * x[i] + steps; z[i] += k[0]; if (extra) extra[i] = k[1]; }
  return 0; }"""


def make_task() -> Task:
    unused: Callable[..., object] = lambda *_: {}  # noqa: E731
    return Task(
        name="scale_add", category="test", formula="y = alpha x + steps", contract=CONTRACT, cases=(), waste="",
        generate=unused, reference=unused, complexity=lambda s: 1, min_flops=lambda s: 0, min_bytes=lambda s, p: 0,
    )  # fmt: skip


def make_case(n: int = 7, null: tuple[str, ...] = ()) -> Case:
    return Case(set=CaseSet.SMALL, sizes={"N": n}, scalars={"alpha": 2.5, "steps": 3}, null=null)


def make_arrays(n: int = 7) -> dict[str, np.ndarray]:
    return {
        "x": np.arange(n, dtype=np.float32),
        "k": np.array([10, 20], dtype=np.int32),
        "z": np.full(n, 0.5, dtype=np.float32),
    }


@pytest.fixture(scope="session")
def builds(pytestconfig: pytest.Config) -> Path:
    """Builds are kept by content, so that test processes and later runs share them."""
    return pytestconfig.cache.mkdir("cudamaster-builds")  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def executable(builds: Path) -> Path:
    return build_host_program(["g++"], [f"-I{FAKE}", "-pthread"], depends=[FAKE / "cuda_runtime.h"], root=builds)


@pytest.fixture
def library(builds: Path) -> Callable[..., Path]:
    def compile_(body: str = GOOD, *, workspace: str = "return 64;", before: str = "") -> Path:
        text = (
            "#include <stddef.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
            f"{before}\n{PROTOTYPE}\n{body}\n"
            f'extern "C" size_t scale_add_workspace_bytes(int n) {{ (void)n; {workspace} }}\n'
        )

        def make(folder: Path) -> None:
            (folder / "candidate.cpp").write_text(text)
            command = ["g++", "-O0", "-shared", "-fPIC", "-w", "-o", "candidate.so", "candidate.cpp"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, done.stderr

        return cached(content_key("test library", text), make, builds) / "candidate.so"

    return compile_


@pytest.fixture
def start(executable: Path, builds: Path, library: Callable[..., Path]) -> Iterator[Callable[..., RunnerProcess]]:
    started: list[RunnerProcess] = []

    def start_(
        body: str = GOOD, *, workspace: str = "return 64;", before: str = "", **options: object
    ) -> RunnerProcess:
        path = library(body, workspace=workspace, before=before)
        program = options.pop("executable", executable)
        runner = RunnerProcess(program, path, make_task(), Precision.FP32, builds=builds, **options)  # type: ignore[arg-type]
        started.append(runner)
        return runner

    yield start_
    for runner in started:
        runner.close()
