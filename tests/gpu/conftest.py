"""The cuda device on a real GPU: `python3 -m pytest -m gpu`. Skipped, with the reason, where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task
from cudamaster.benchmark.task import Task
from cudamaster.tools.device.cuda.device import CudaDevice
from cudamaster.tools.records import Build, Candidate

HEAD = 'extern "C" size_t dot_product_workspace_bytes(int n) { return 4096; }\n'
ENTRY = (
    'extern "C" cudaError_t dot_product(float* result, const float* x, const float* y, int n, void* w, size_t wb,'
    " cudaStream_t s) "
)


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> CudaDevice:
    return CudaDevice(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def dot() -> Task:
    return load_task("dot_product")


@pytest.fixture(scope="session")
def built(device: CudaDevice, dot: Task) -> Callable[[str], Build]:
    def build(source: str) -> Build:
        made = device.build(Candidate(source=source), dot, Precision.FP32)
        assert made.ok, made.log
        assert Path(made.library).is_file()
        return made

    return build


def kernel(body: str, launch: str = "k<<<1, 1, 0, s>>>(result, static_cast<float*>(w));") -> str:
    """A candidate of one kernel `k(float* r, float* w)`."""
    source = f"__global__ void k(float* r, float* w) {{ {body} }}\n"
    return f"{source}{HEAD}{ENTRY}{{ {launch} return cudaGetLastError(); }}\n"
