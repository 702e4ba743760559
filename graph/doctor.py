"""What this machine has, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from ..nodes.context import default_home
from ..tools.device.cuda.device import CudaDevice
from ..tools.device.cuda.doctor import diagnose_machine
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
    for finding in diagnose_machine():
        yield Item(finding.topic, "ok" if finding.ok else "missing", finding.found, finding.fix)
    if os.environ.get("OPENAI_API_KEY"):
        yield Item("OPENAI_API_KEY", "ok", "set: --model openai:NAME can be used")
    else:
        yield Item(
            "OPENAI_API_KEY", "missing", "--model offline and mailbox need no key", "set it for --model openai:NAME"
        )


def calibrated(home: Path | None = None) -> Item:
    """Measure the GPU's own rates, which floors and diagnoses then use, and keep them in the home."""
    try:
        measured = CudaDevice(home or default_home()).calibrate()
    except DeviceUnavailable as error:
        return Item("calibration", "missing", str(error), "see the lines above")
    words = [f"{name} {value:,}" for name, value in measured.items() if name not in ("gpu", "date")]
    return Item("calibration", "ok", f"{measured['gpu']}: {', '.join(words)}")


def _device(name: Literal["cpu", "cuda"]) -> Item:
    from ..tools.device.select import get_device

    try:
        info: DeviceInfo = get_device(name).info()
    except DeviceUnavailable as error:
        return Item(f"{name} device", "fault" if name == "cpu" else "missing", str(error))
    parts = [f"{info.gpu} ({info.arch})", info.compiler, f"driver {info.driver}" if info.driver else "", *info.notes]
    return Item(f"{name} device", "ok", ", ".join(part for part in parts if part))
