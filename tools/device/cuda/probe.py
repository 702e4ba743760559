"""Asks the GPU what it is, by a small program that really launches a kernel."""

from __future__ import annotations

import ctypes
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from ...records import Record
from ..port import DeviceUnavailable
from ..runner.cache import cached, content_key
from .toolkit import Toolkit, require_nvcc

_HERE = Path(__file__).parent


class GpuFacts(Record):
    """What the GPU said of itself."""

    gpu: str
    arch: str
    multiprocessors: int
    gpus: int
    driver_cuda: str
    """Newest CUDA version that the driver knows."""
    runtime: str
    clock_mhz: int
    memory_bytes: int
    l2_bytes: int
    uuid: str
    """32 hexadecimal digits."""
    alike: tuple[str, ...] = ()
    """UUIDs of the visible GPUs of this name, in their order; this one's among them."""


def build_program(name: str, toolkit: Toolkit, *options: str, root: Path | None = None) -> Path:
    """Compile one of this folder's `.cu` programs and return the executable, cached by content.

    Raises:
        DeviceUnavailable: nvcc failed; the message holds the command and its output.
    """
    source = _HERE / f"{name}.cu"
    flags = ["-O3", "-std=c++17", "-cudart=static", *options, *toolkit.library_flags]

    def make(folder: Path) -> None:
        command = [str(toolkit.nvcc), *flags, "-o", str(folder / name), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise DeviceUnavailable(
                f"building {name} failed: {' '.join(command)}\n{(done.stderr or done.stdout)[-4000:]}"
            )

    return (
        cached(content_key("program", source.read_bytes(), toolkit.version, str(toolkit.nvcc), *flags), make, root)
        / name
    )


def run_json(command: list[str], timeout_s: float) -> dict[str, Any]:
    """Run a program of ours and return the JSON object that it printed.

    Raises:
        DeviceUnavailable: it failed; the message says how.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        raise DeviceUnavailable(
            f"the GPU did not answer within {timeout_s:g} s: is another process holding it?"
        ) from None
    except (OSError, IndexError, ValueError) as error:
        raise DeviceUnavailable(f"{command[0]} failed: {error}") from None
    if "error" in answer:
        raise DeviceUnavailable(f"the GPU can't be used: {answer['error']}; see `cudamaster doctor`")
    return answer


@cache
def driver_library() -> bool:
    """Return whether the driver's library can be loaded at all: a quick no where there is no GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def probe_gpu() -> GpuFacts:
    """Return what the first visible GPU is, after a real launch on it. Asked once per process.

    Raises:
        DeviceUnavailable: no driver, no nvcc, or no answer; the message says which, and what to do.
    """
    if not driver_library():
        raise DeviceUnavailable(
            "no NVIDIA driver on this machine (libcuda.so.1 can't be loaded): install the driver, "
            "start the container with GPU access (docker: --gpus all), or use --device cpu"
        )
    program = build_program("probe", require_nvcc())
    return GpuFacts.model_validate(run_json([str(program)], 60))
