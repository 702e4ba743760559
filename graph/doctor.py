"""What this machine has, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from ..nodes.context import default_home
from ..tools.device.port import DeviceInfo, DeviceUnavailable
from .errors import HomeNotWritable
from .manifest import make_folder


class Item(NamedTuple):
    """One thing that was looked for. `missing` limits what can be done; a `fault` means that nothing can run."""

    name: str
    state: Literal["ok", "missing", "fault"]
    detail: str
    fix: str = ""


def examine(home: Path | None = None) -> list[Item]:
    """Look for compilers, devices, tools, model keys and a home that can be written."""
    return list(_examine(home or default_home()))


def _examine(home: Path) -> Iterator[Item]:
    yield Item("python", "ok", f"{platform.python_version()} ({sys.executable})")
    try:
        make_folder(home / "runs")
        yield Item("home", "ok", str(home.resolve()))
    except HomeNotWritable as error:
        yield Item("home", "fault", str(error))
    yield _device("cpu")
    yield _device("cuda")
    yield _program("g++", "the cpu device compiles kernels with it", "install g++ (12 or newer)")
    yield _program("nvcc", "says what is legal CUDA", "pip install 'cudamaster[cuda]', or the CUDA toolkit")
    yield _program("ncu", "profiles kernels on a GPU", "install NVIDIA Nsight Compute")
    yield _program("compute-sanitizer", "looks for races on a GPU", "comes with the CUDA toolkit")
    if os.environ.get("OPENAI_API_KEY"):
        yield Item("OPENAI_API_KEY", "ok", "set: --model openai:NAME can be used")
    else:
        yield Item(
            "OPENAI_API_KEY", "missing", "--model offline and mailbox need no key", "set it for --model openai:NAME"
        )


def _device(name: Literal["cpu", "cuda"]) -> Item:
    from ..tools.device.select import get_device

    try:
        info: DeviceInfo = get_device(name).info()
    except DeviceUnavailable as error:
        return Item(f"{name} device", "fault" if name == "cpu" else "missing", str(error))
    parts = [f"{info.gpu} ({info.arch})", info.compiler, f"driver {info.driver}" if info.driver else "", *info.notes]
    return Item(f"{name} device", "ok", ", ".join(part for part in parts if part))


def _program(name: str, purpose: str, fix: str) -> Item:
    path = shutil.which(name)
    if path is None:
        return Item(name, "missing", purpose, fix)
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        told = ""
    lines = [line.strip() for line in told.splitlines() if any(c.isdigit() for c in line)]
    version = next(
        (line for line in lines if "release" in line.lower() or "version" in line.lower()), lines[0] if lines else ""
    )
    return Item(name, "ok", f"{path} {version}".strip())
