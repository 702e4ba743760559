"""The host compiler, the runtime library compiled with it once, and the flags for candidates."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ..port import DeviceUnavailable
from ..runner.cache import cached, content_key

HERE: Final = Path(__file__).parent
INCLUDE: Final = HERE / "include"
COMPILE_SECONDS: Final = 120
RUNTIME_SECONDS: Final = 600
"""For the runtime, which is compiled once: 15 s of work, on a machine that others may keep busy."""


@dataclass(frozen=True)
class Compiler:
    """A C++20 compiler of this machine."""

    path: str
    version: str


@cache
def find_compiler() -> Compiler:
    """Return g++, or clang++ where there is no g++.

    Raises:
        DeviceUnavailable: there is neither.
    """
    for name in ("g++", "c++", "clang++"):
        path = shutil.which(name)
        if path is None:
            continue
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
        if done.returncode == 0:
            return Compiler(path, done.stdout.splitlines()[0])
    raise DeviceUnavailable("the cpu device needs a C++ compiler: install g++ (Debian, Ubuntu: apt-get install g++)")


@cache
def machine_flags() -> tuple[str, ...]:
    """Return the instruction set that candidates may use: with AVX2 and FMA where this machine has them."""
    if platform.machine() != "x86_64":
        return ()
    try:
        words = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return ()
    return ("-march=x86-64-v3",) if {"avx2", "fma", "bmi2", "f16c"} <= words else ()


def header_files() -> list[Path]:
    """Return every header, sorted: a change of any makes new builds."""
    return sorted(INCLUDE.rglob("*.h"))


@cache
def headers_key() -> str:
    """Return the hash of all headers and of the runtime's sources."""
    sources = sorted((HERE / "runtime").iterdir())
    return content_key(*(path.read_bytes() for path in [*header_files(), *sources]))


def runtime_library(root: Path | None = None) -> Path:
    """Return the runtime library, compiled once per compiler, flags and source.

    Raises:
        DeviceUnavailable: it can't be compiled here; the message holds the compiler's output.
    """
    compiler = find_compiler()
    command = [
        compiler.path, "-std=c++20", "-O2", "-g1", "-w", "-fPIC", "-shared", "-fno-strict-aliasing", "-D__CUDACC__",
        f"-I{INCLUDE}", str(HERE / "runtime" / "all.cpp"), "-ldl",
    ]  # fmt: skip
    key = content_key("cpu runtime", compiler.version, *command, headers_key())

    def make(folder: Path) -> None:
        output = folder / "libcpusim.so"
        try:
            done = subprocess.run(
                [*command, "-o", str(output)], capture_output=True, text=True, timeout=RUNTIME_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise DeviceUnavailable(
                f"compiling the cpu device's runtime took more than {RUNTIME_SECONDS} s: try again on an idle machine"
            ) from None
        if done.returncode != 0:
            raise DeviceUnavailable(
                f"the cpu device's runtime does not compile with {compiler.version}:\n{done.stderr}"
            )

    return cached(key, make, root) / "libcpusim.so"
