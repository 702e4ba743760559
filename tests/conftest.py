"""LangSmith's pytest plugin and tracing stay off the network; tests that need a GPU are skipped where there is none."""

from __future__ import annotations

import os
from functools import cache

import pytest

# Read before anything imports LangSmith.
os.environ.setdefault("LANGSMITH_TEST_TRACKING", "false")
os.environ.setdefault("LANGSMITH_TRACING", "false")


@cache
def _without_gpu() -> str:
    """Return why no GPU can be used; empty if one can."""
    from cudamaster.tools.device.cuda.device import CudaDevice
    from cudamaster.tools.device.port import DeviceUnavailable

    try:
        CudaDevice().info()
    except DeviceUnavailable as error:
        return str(error)
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked `gpu`, with the reason."""
    if item.get_closest_marker("gpu") and (reason := _without_gpu()):
        pytest.skip(f"no GPU: {reason}")
