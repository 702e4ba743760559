"""Builds the two trusted binaries of an evaluation: the host program and, per contract, the glue."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ....benchmark.contract import Contract, DType, Role
from ..port import DeviceUnavailable
from .cache import cached, content_key

_HERE = Path(__file__).parent
_SOURCES = ("runner.cpp", "sandbox.h", "isolation.h", "timing.h")


def _run(command: Sequence[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise DeviceUnavailable(f"{command[0]} was not found; install a C++17 compiler (package g++)") from None
    except subprocess.TimeoutExpired:
        raise DeviceUnavailable(f"{what} took more than 300 s: {' '.join(command)}") from None
    if done.returncode != 0:
        raise DeviceUnavailable(f"{what} failed: {' '.join(command)}\n{(done.stderr or done.stdout)[-4000:]}")


def build_host_program(
    compiler: Sequence[str], flags: Sequence[str] = (), *, depends: Sequence[Path] = (), root: Path | None = None
) -> Path:
    """Compile the host program and return the executable's path, cached by content.

    `compiler` begins the command, `flags` (include folders, more sources, libraries) end it; `depends` are the files
    besides its own whose change must cause a new build.

    Raises:
        DeviceUnavailable: there is no compiler, or it failed; the message holds the command and its output.
    """
    parts = [(_HERE / name).read_bytes() for name in _SOURCES] + [path.read_bytes() for path in depends]
    key = content_key("host program", *compiler, "--", *flags, "--", *parts)

    def make(folder: Path) -> None:
        command = [
            *compiler,
            "-std=c++17",
            "-O2",
            "-o",
            str(folder / "runner"),
            str(_HERE / "runner.cpp"),
            *flags,
            "-ldl",
        ]
        _run(command, "building the host program")

    return cached(key, make, root) / "runner"


def glue_source(contract: Contract) -> str:
    """Return the C++ source that calls an entry function of this contract through its true prototype."""
    types, values, size_types, size_values = [], [], [], []
    for index, argument in enumerate(contract.arguments):
        if argument.role.is_array:
            kind, member = "void*", "pointer"
        elif argument.dtype is DType.I32:
            kind, member = "int", "integer"
        else:
            kind, member = "float", "real"
        types.append(kind)
        values.append(f"values[{index}].{member}")
        if argument.role is Role.SIZE:
            size_types.append(kind)
            size_values.append(values[-1])
    entry = ", ".join([*types, "void*", "decltype(sizeof 0)", "void*"])
    call = ", ".join([*values, "workspace", "workspace_bytes", "stream"])
    return f"""union Value {{ void* pointer; int integer; float real; }};
typedef decltype(sizeof 0) Size;
extern "C" int glue_call(void* entry, const Value* values, void* workspace, Size workspace_bytes, void* stream) {{
  return reinterpret_cast<int (*)({entry})>(entry)({call});
}}
extern "C" Size glue_workspace(void* entry, const Value* values) {{
  (void)values;
  return reinterpret_cast<Size (*)({", ".join(size_types)})>(entry)({", ".join(size_values)});
}}
"""


def build_glue(contract: Contract, root: Path | None = None) -> Path:
    """Compile the glue for a contract and return the library's path, cached by its signature.

    Raises:
        DeviceUnavailable: there is no g++.
    """
    source = glue_source(contract)

    def make(folder: Path) -> None:
        (folder / "glue.cpp").write_text(source)
        compiler = shutil.which("g++") or shutil.which("c++") or "g++"
        _run(
            [compiler, "-O1", "-shared", "-fPIC", "-o", str(folder / "glue.so"), str(folder / "glue.cpp")],
            "building the glue",
        )

    return cached(content_key("glue", source), make, root) / "glue.so"
