"""Compiles a candidate with nvcc: only allow-listed options, everything logged, failures told apart."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from ....benchmark.contract import Contract
from ...profile.ncu_csv import instance_name
from ...records import Build, BuildSpec, Candidate, Resources
from ..limited import STARVED, run_limited
from ..port import DeviceUnavailable
from ..runner.cache import cached, content_key
from .toolkit import Toolkit, require_nvcc

Failure = Literal["source", "option", "arch", "infra"]

COMPILE_SECONDS: Final = 180

_LAST_ERROR: Final = """#include <cuda_runtime.h>
// The candidate has a CUDA runtime of its own: only code inside it can see a launch error that its entry kept quiet.
extern "C" __attribute__((visibility("default"))) int cudamaster_last_error() {
  return static_cast<int>(cudaGetLastError());
}
"""


def architecture_flag(arch: str) -> str:
    """Return the option for one architecture (`sm_90a` included: machine code of exactly that target)."""
    return f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}"


def nvcc_options(spec: BuildSpec, arch: str) -> tuple[str, ...]:
    """Translate a BuildSpec into options. Baseline and candidate share everything that is not in the spec."""
    options = [f"-std={spec.standard}", spec.optimization, architecture_flag(spec.arch or arch)]
    if spec.optimization != "-O3":
        options.append(f"-Xptxas={spec.optimization}")
    if spec.fast_math:
        options.append("--use_fast_math")
    if spec.max_registers is not None:
        options.append(f"-maxrregcount={spec.max_registers}")
    if spec.unroll is not None:
        options.append(f"-DUNROLL={spec.unroll}")
    options += [f"-D{name}={value}" for name, value in sorted(spec.defines.items())]
    return tuple(options)


def nvcc_build(
    candidate: Candidate, contract: Contract, arch: str, *, toolkit: Toolkit | None = None, root: Path | None = None
) -> Build:
    """Compile a candidate to a shared object that exports its two entry points alone; cached by content.

    Never raises for a bad candidate: `Build.failure` says whose fault it is, and `Build.log` holds the full command
    and what the compiler said.

    Raises:
        DeviceUnavailable: there is no nvcc.
    """
    toolkit = toolkit or require_nvcc()
    command = _command(candidate.spec, contract, arch, toolkit)
    key = content_key("candidate", candidate.source, toolkit.version, _LAST_ERROR, *command)

    def make(folder: Path) -> None:
        build = _compile(candidate, contract, command, folder)
        if build.failure == "infra":
            raise _NotKept(build)
        (folder / "build.json").write_text(build.model_dump_json())

    try:
        folder = cached(key, make, root)
    except _NotKept as fault:
        return fault.build
    except OSError as error:
        return Build(ok=False, failure="infra", log=f"the build folder can't be used: {error}")
    build = Build.model_validate_json((folder / "build.json").read_text())
    return build.model_copy(update={"library": str(folder / "candidate.so") if build.ok else ""})


class _NotKept(Exception):
    """A fault of the machine is reported and not cached."""

    def __init__(self, build: Build) -> None:
        self.build = build


def _command(spec: BuildSpec, contract: Contract, arch: str, toolkit: Toolkit) -> list[str]:
    """Return the whole command; it runs in the folder that holds the files it names."""
    return [
        str(toolkit.nvcc), *nvcc_options(spec, arch), "-lineinfo", "-Xptxas=-v", "-shared", "-Xcompiler=-fPIC",
        "-cudart=static", "-include", "last_error.h", "-Xlinker=--version-script=exports.map", "-Xlinker=-z,defs",
        f"-Xlinker=--require-defined={contract.entry}", f"-Xlinker=--require-defined={contract.workspace_entry}",
        *toolkit.library_flags, "-o", "candidate.so", "candidate.cu",
    ]  # fmt: skip


def _compile(candidate: Candidate, contract: Contract, command: list[str], folder: Path) -> Build:
    exported = (contract.entry, contract.workspace_entry, "cudamaster_last_error")
    (folder / "candidate.cu").write_text(candidate.source)
    (folder / "last_error.h").write_text(_LAST_ERROR)
    (folder / "exports.map").write_text("{ global: " + " ".join(f"{name};" for name in exported) + " local: *; };\n")
    start = time.monotonic()
    code, output = run_limited(command, folder, COMPILE_SECONDS)
    output = output.replace(f"{folder}/", "")
    seconds = time.monotonic() - start
    log = "$ " + " ".join(command) + "\n" + (output or f"(exit code {code}, without a word: is the disk full?)\n")
    if code == 0 and (folder / "candidate.so").is_file():
        return Build(
            ok=True, log=log, command=tuple(command), checked_with_nvcc=True, resources=parse_resources(output),
            seconds=seconds,
        )  # fmt: skip
    failure = classify_failure(output, code)
    checked = failure != "infra"
    return Build(
        ok=False, log=log, command=tuple(command), failure=failure, checked_with_nvcc=checked, seconds=seconds
    )  # fmt: skip


_INFRA: Final = (
    r"No space left on device|cannot execute|[Cc]annot find compiler|(?:gcc|g\+\+): (?:command )?not found"
    r"|host compiler .* (?:not found|targets unsupported)|cannot find -lcud|error while loading shared libraries"
    rf"|Killed signal terminated program|{STARVED}"
    r"|unsupported (?:GNU|clang) version|Permission denied|Failed to preprocess host compiler properties"
)
_ARCH: Final = (
    r"[Uu]nsupported gpu architecture|is not defined for option 'gpu-(?:architecture|code)'"
    r"|not supported on \.target|requires \.target|requires? PTX ISA|is not supported for target"
)
_OPTION: Final = r"nvcc fatal|Unknown option|[Uu]nrecognized (?:command[- ]line )?option|maxrregcount"


def classify_failure(output: str, code: int | None) -> Failure:
    """Say whose fault a failed compilation is: an option's, the architecture's, the machine's, else the source's."""
    if re.search(r"^candidate\.(?:cu|cpp)(?:\(\d+\)|:\d+).*error", output, re.MULTILINE):
        return "source"  # first: such a line may quote anything
    if re.search(_INFRA, output):
        return "infra"
    if re.search(_ARCH, output):
        return "arch"
    if re.search(_OPTION, output):
        return "option"
    if code is not None and (code < 0 or code in (126, 127) or not output.strip()):
        return "infra"  # without a word: on a full disk there was no room for one
    return "source"


_ENTRY: Final = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES: Final = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED: Final = re.compile(r"Used (\d+) registers")


def parse_resources(output: str) -> tuple[Resources, ...]:
    """Read what `ptxas -v` says of each kernel, of a template's instances one by one."""
    found: list[Resources] = []
    symbol, stack = "", (0, 0, 0)
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            symbol, stack = entry[1], (0, 0, 0)
        elif "Function properties for" in line and symbol not in line:
            symbol = "" if not line.rstrip().endswith(symbol) else symbol
        elif properties := _PROPERTIES.search(line):
            stack = (int(properties[1]), int(properties[2]), int(properties[3]))
        elif symbol and (used := _USED.search(line)):
            shared = re.search(r"(\d+)(?:\+\d+)? bytes smem", line)
            barriers = re.search(r"used (\d+) barriers", line)
            found.append(
                Resources(
                    kernel=symbol, registers=int(used[1]), shared_bytes=int(shared[1]) if shared else 0,
                    stack_bytes=stack[0], spill_store_bytes=stack[1], spill_load_bytes=stack[2],
                    barriers=int(barriers[1]) if barriers else 0,
                )
            )  # fmt: skip
            symbol = ""
    names = demangled([r.kernel for r in found])
    return tuple(r.model_copy(update={"kernel": instance_name(name)}) for r, name in zip(found, names, strict=True))


def demangled(symbols: Sequence[str]) -> list[str]:
    """Return C++ names as a person writes them, or the symbols themselves where no demangler is to be had."""
    tool = shutil.which("cu++filt") or shutil.which("c++filt")
    if not tool or not symbols:
        return list(symbols)
    try:
        done = subprocess.run([tool], input="\n".join(symbols), capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return list(symbols)
    names = done.stdout.splitlines()
    return names if len(names) == len(symbols) else list(symbols)


def nvcc_check(candidate: Candidate, contract: Contract, arch: str, root: Path | None = None) -> Build | None:
    """Compile with nvcc if there is one, for its diagnostics alone; None if there is none."""
    try:
        return nvcc_build(candidate, contract, arch, root=root)
    except DeviceUnavailable:
        return None
