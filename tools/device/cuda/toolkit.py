"""Finds nvcc and the tools around it: on PATH, in CUDA_HOME, in the usual folders, or in the toolkit's pip wheels."""

from __future__ import annotations

import os
import re
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ..port import DeviceUnavailable


@dataclass(frozen=True)
class Toolkit:
    """One CUDA toolkit."""

    nvcc: Path
    version: str
    """E.g. `13.0`."""
    root: Path
    library_flags: tuple[str, ...] = ()
    """What the linker needs besides: the wheels of 13.0 hold `lib`, while their nvcc looks in `lib64`."""

    @property
    def include(self) -> Path:
        """The folder of cuda_runtime.h."""
        return self.root / "include"


_USUAL: Final = (Path("/usr/local/cuda"), Path("/opt/cuda"))


def _wheel_roots() -> Iterator[Path]:
    for folder in [*site.getsitepackages(), site.getusersitepackages(), *sys.path]:
        yield from sorted(Path(folder).glob("nvidia/cu[0-9]*"), reverse=True)


def _roots() -> Iterator[Path]:
    """Yield folders that may hold a toolkit, the most deliberate choice first."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(variable):
            yield Path(value)
    if found := shutil.which("nvcc"):
        yield Path(found).resolve().parent.parent
    yield from _USUAL
    yield from _wheel_roots()


def _answer(nvcc: Path) -> Toolkit | None:
    """Ask this nvcc for its version and its own root (it may be a script that starts another)."""
    try:
        said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=30).stdout
        plan = subprocess.run([nvcc, "--dryrun", "-c", "-x", "cu", "/dev/null", "-o", "/dev/null"],
                              capture_output=True, text=True, timeout=30).stderr  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"release (\d+\.\d+)", said)
    if version is None:
        return None
    top = re.search(r"^#\$ TOP=(.*)$", plan, re.MULTILINE)
    root = Path(top[1]).resolve() if top else nvcc.resolve().parent.parent
    if not (root / "include" / "cuda_runtime.h").is_file():
        root = nvcc.resolve().parent.parent
    flags = () if (root / "lib64").exists() or not (root / "lib").exists() else (f"-L{root / 'lib'}",)
    return Toolkit(nvcc, version[1], root, flags)


@cache
def find_nvcc() -> Toolkit | None:
    """Return the toolkit to use, or None. `CUDA_HOME` wins over PATH, PATH over the usual folders and pip wheels."""
    for root in _roots():
        nvcc = root / "bin" / "nvcc"
        if not nvcc.is_file() and (on_path := shutil.which("nvcc")):
            nvcc = Path(on_path)
        if nvcc.is_file() and (toolkit := _answer(nvcc)):
            return toolkit
    return None


def require_nvcc() -> Toolkit:
    """Return the toolkit to use.

    Raises:
        DeviceUnavailable: there is none; the message says how to get one.
    """
    toolkit = find_nvcc()
    if toolkit is None:
        raise DeviceUnavailable(
            "nvcc was not found on PATH, in CUDA_HOME, in /usr/local/cuda or among pip packages: "
            "install the CUDA toolkit, or `pip install 'cudamaster[cuda]'`"
        )
    return toolkit


@cache
def find_tool(name: str) -> Path | None:
    """Return the path of `ncu`, `compute-sanitizer`, `cuobjdump` or `nvdisasm`, or None.

    Looked for on PATH, beside nvcc, and where Nsight Compute installs itself.
    """
    if found := shutil.which(name):
        return Path(found)
    toolkit = find_nvcc()
    folders = [root / "bin" for root in ([toolkit.root] if toolkit else []) + list(_roots())]
    folders += [root / "compute-sanitizer" for root in _roots()]
    folders += sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    folders += sorted(Path("/usr/local").glob("cuda*/nsight-compute*"), reverse=True)
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
