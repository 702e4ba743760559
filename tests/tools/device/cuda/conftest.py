"""The host program with a clock for tests, and the runner's fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.tools.device.runner import client
from cudamaster.tools.device.runner.host_program import build_host_program

from ..runner.conftest import FAKE, builds, library, start  # noqa: F401

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def executable(builds: Path) -> Path:  # noqa: F811
    timing = HERE / "fake_timing.cpp"
    flags = [f"-I{FAKE}", f"-I{Path(client.__file__).parent}", "-DWITH_TIMING", str(timing), "-pthread"]
    return build_host_program(["g++"], flags, depends=[timing, FAKE / "cuda_runtime.h"], root=builds)
