"""Compile a candidate for the host: one library to verify with, and on demand one that traces its memory accesses."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from ...records import Build, BuildSpec, Candidate
from ..cuda.nvcc import classify_failure
from ..limited import run_limited
from ..port import DeviceUnavailable
from ..runner.cache import cached, content_key
from .rewrite import HostSource, rewrite
from .toolchain import COMPILE_SECONDS, INCLUDE, find_compiler, headers_key, machine_flags, runtime_library

VERIFY_FLAGS: Final = ("-O2", "-g1")
TRACE_FLAGS: Final = (
    "-O2", "-g", "-DCPUSIM_TRACE", "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize", "-fno-store-merging", "-fno-tree-sra",
)  # fmt: skip
"""Each load and store as the source has it: a float4 in one piece, no two of them merged; every basic block marked."""
_TRACE_GCC: Final = ("--param", "tsan-instrument-func-entry-exit=0")
_COMMON: Final = (
    "-w", "-fPIC", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
    "-fstack-clash-protection", "-fmax-errors=10",
    "-D__CUDACC__", "-D__NVCC__", "-include", "cuda_runtime.h",
)  # fmt: skip


def candidate_flags(spec: BuildSpec) -> tuple[str, ...]:
    """Translate a BuildSpec: what changes the meaning of the source; nvcc's code generation has no equal here."""
    flags = [f"-std={spec.standard.replace('c++', 'gnu++')}"]
    if spec.unroll is not None:
        flags.append(f"-DUNROLL={spec.unroll}")
    if spec.fast_math:
        flags.append("-D__USE_FAST_MATH__")
    flags += [f"-D{name}={value}" for name, value in sorted(spec.defines.items())]
    return tuple(flags)


def host_build(
    candidate: Candidate, entries: Sequence[str], *, checked: Build | None, root: Path | None = None
) -> Build:
    """Compile a candidate for the host; cached by content. Never raises for a bad candidate.

    `entries` are the C functions that the library exports; each must be there.
    `checked` is what nvcc said of the same candidate, None if there is no nvcc. What nvcc rejects is rejected with its
    words; what it accepts and the host compiler does not is `unsupported`: a gap of this device, not a fault.
    """
    if checked is not None and not checked.ok:
        return checked
    start = time.monotonic()
    host = rewrite(candidate.source)
    if host.refusals:
        build = Build(ok=False, failure="unsupported", log=_refusal_text(host))
    else:
        try:
            build = _compiled(candidate, entries, host, nvcc_accepts=checked is not None, root=root)
        except DeviceUnavailable as error:
            build = Build(ok=False, failure="infra", log=str(error))
        except OSError as error:
            build = Build(ok=False, failure="infra", log=f"the build folder can't be used: {error}")
    log, resources, device_code = build.log, build.resources, ""
    if checked is not None:
        log, resources, device_code = checked.log + log, checked.resources, checked.library
    return build.model_copy(
        update={
            "checked_with_nvcc": checked is not None, "resources": resources, "log": log,
            "device_code": device_code, "seconds": time.monotonic() - start + (checked.seconds if checked else 0.0),
        }
    )  # fmt: skip


def trace_library(build: Build, root: Path | None = None) -> Path:
    """Return the instrumented library of a built candidate, compiled at its first use.

    Raises:
        DeviceUnavailable: it can't be compiled.
    """
    folder = Path(build.library).parent
    compiler = find_compiler()
    flags = (*_read_flags(folder), *_COMMON, *TRACE_FLAGS, *(_TRACE_GCC if "clang" not in compiler.version else ()))
    source = (folder / "candidate.cpp").read_text()
    exports = (folder / "exports.map").read_text()
    runtime = runtime_library(root)
    key = content_key("cpu trace", compiler.version, headers_key(), source, exports, *flags, *machine_flags())

    def make(fresh: Path) -> None:
        (fresh / "candidate.cpp").write_text(source)
        (fresh / "exports.map").write_text(exports)
        (fresh / "flags").write_text("\n".join(flags))
        # Compiled and linked apart: the sanitizer's own runtime must not be linked.
        compile_command = [
            compiler.path,
            *flags,
            *machine_flags(),
            f"-I{INCLUDE}",
            "-c",
            "candidate.cpp",
            "-o",
            "candidate.o",
        ]
        link_command = [compiler.path, "-shared", "candidate.o", "-o", "candidate.so", *_link_flags(runtime)]
        for command in (compile_command, link_command):
            code, output = run_limited(command, fresh, COMPILE_SECONDS)
            if code != 0:
                raise DeviceUnavailable(f"the trace build failed: {shlex.join(command)}\n{output}")
        (fresh / "candidate.o").unlink()

    return cached(key, make, root) / "candidate.so"


def read_source(build: Build) -> HostSource:
    """Return what the rewriter learned of a built candidate: its kernels' lines, and which are `__restrict__`."""
    return rewrite((Path(build.library).parent / "candidate.cu").read_text())


def _compiled(
    candidate: Candidate, entries: Sequence[str], host: HostSource, *, nvcc_accepts: bool, root: Path | None
) -> Build:
    compiler, runtime = find_compiler(), runtime_library(root)
    flags = candidate_flags(candidate.spec)
    command = [
        compiler.path, *flags, *_COMMON, *VERIFY_FLAGS, *machine_flags(), f"-I{INCLUDE}", "-shared", "candidate.cpp",
        "-o", "candidate.so", *_link_flags(runtime),
        *(f"-Wl,--require-defined={entry}" for entry in entries),
    ]  # fmt: skip
    key = content_key(
        "cpu verify", compiler.version, headers_key(), host.text, candidate.source, *command, str(nvcc_accepts)
    )

    def make(folder: Path) -> None:
        (folder / "candidate.cu").write_text(candidate.source)
        (folder / "candidate.cpp").write_text(host.text)
        (folder / "flags").write_text("\n".join(flags))
        exported = " ".join(f"{name};" for name in entries)
        (folder / "exports.map").write_text(f"{{ global: {exported} local: *; }};\n")
        code, output = run_limited(command, folder, COMPILE_SECONDS)
        log = f"$ {shlex.join(command)}\n{output}"
        if code != 0 and classify_failure(output, code) == "infra":
            raise DeviceUnavailable(f"{log}\nthe compiler did not come to an end on this machine (exit code {code})")
        failure: Literal["", "source", "unsupported"] = ""
        if code != 0:
            failure = "unsupported" if nvcc_accepts or _unknown_name(output) else "source"
        if failure == "unsupported":
            log += "the cpu device can't compile this, which is no fault of the source: a CUDA feature that it lacks\n"
        build = Build(ok=code == 0, log=log, command=tuple(command), failure=failure)
        (folder / "build.json").write_text(build.model_dump_json())

    folder = cached(key, make, root)
    build = Build.model_validate_json((folder / "build.json").read_text())
    return build.model_copy(update={"library": str(folder / "candidate.so") if build.ok else ""})


def _link_flags(runtime: Path) -> tuple[str, ...]:
    return (
        f"-L{runtime.parent}",
        "-lcpusim",
        f"-Wl,-rpath,{runtime.parent}",
        "-Wl,--version-script=exports.map",
        "-Wl,-z,defs",
    )


def _read_flags(folder: Path) -> tuple[str, ...]:
    return tuple((folder / "flags").read_text().split("\n"))


def _refusal_text(host: HostSource) -> str:
    lines = [f"candidate.cu:{r.line}: the cpu device can't run {r.construct}" for r in host.refusals]
    return (
        "\n".join([*lines, "This is no fault of the source: build it for the cuda device, or write it without these."])
        + "\n"
    )


_UNKNOWN: Final = re.compile(
    r"error: [‘'](?:__|cuda[A-Z]|CUDA|cooperative_groups)\w*[’'] "
    r"(?:was not declared|does not name|is not a member|has not been declared)"
    r"|error: [‘']\w+[’'] is not a member of [‘']cooperative_groups"
    r"|fatal error: [\w/.]+: No such file"
)


def _unknown_name(output: str) -> bool:
    """Whether a compile error names something of CUDA's that may exist, but not here."""
    return _UNKNOWN.search(output) is not None
