"""What a library's machine code tells: whether two are the same program, and which instructions an FP32 kernel uses."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

from ..device.cuda.nvcc import demangled
from ..device.cuda.toolkit import find_tool
from ..profile.ncu_csv import kernel_name
from ..records import Build
from .elf import section_data

_LINE: Final = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?P<text>(?:@!?\w+\s+)?(?P<name>[A-Z][\w.]*)[^;]*);")
_FUNCTION: Final = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_NARROW: Final = re.compile(r"[A-Z]*MMA\b|HADD2|HMUL2|HFMA2|HSET|F2FP|F2F\.(?:B?F16|E4M3|E5M2)")
_STRING: Final = re.compile(rb"[ -~]{6,}\0")
_CONSTANT: Final = re.compile(r"HFMA2(?:\.MMA)?(?:\.BF16_V2)? \w+, -RZ, RZ, ")
"""How the compiler writes a constant into a register: no arithmetic."""


def same_program(build: Build, baseline: Build) -> bool:
    """Return True if both libraries run the same instructions, on the host and on the GPU, whatever the names.

    Resources tell most apart without a look at the code; the rest costs a disassembly of each.
    """
    if sorted(_used(build)) != sorted(_used(baseline)):
        return False
    first, second = (_program(Path(one.device_code or one.library)) for one in (build, baseline))
    return first is not None and first == second


def narrow_instructions(build: Build) -> tuple[str, ...]:
    """Return, one phrase per kernel, the half-precision and tensor instructions in it; empty without a disassembler."""
    library = Path(build.device_code or build.library)
    kernels = _split(_disassembled(library)) if section_data(library, ".nv_fatbin") else []
    found = []
    for name, (_, code) in zip(demangled([name for name, _ in kernels]), kernels, strict=True):
        names = Counter(m["name"] for m in _LINE.finditer(code) if _is_narrow(m["text"]))
        if names:
            counted = ", ".join(f"{count} {instruction}" for instruction, count in sorted(names.items()))
            found.append(f"{kernel_name(name)}: {counted}")
    return tuple(found)


def _used(build: Build) -> list[tuple[int, ...]]:
    return [(r.registers, r.shared_bytes, r.stack_bytes, r.barriers) for r in build.resources]


def _is_narrow(text: str) -> bool:
    return bool(_NARROW.search(text)) and not _CONSTANT.search(text)


@cache
def _program(library: Path) -> str | None:
    """Return a hash of all instructions; None if they can't be read here."""
    on_host, on_gpu = section_data(library, ".text"), section_data(library, ".nv_fatbin")
    sass = _disassembled(library) if on_gpu else ""
    if not on_host or (on_gpu and not sass):
        return None
    kernels = sorted("\n".join(m["text"].strip() for m in _LINE.finditer(code)) for _, code in _split(sass))
    digest = hashlib.sha256(on_host)
    digest.update(_STRING.sub(b"", section_data(library, ".rodata")))  # numbers stay, names don't matter
    digest.update("\0".join(kernels).encode())
    return digest.hexdigest()


def _split(sass: str) -> list[tuple[str, str]]:
    """Return names and code of the functions in a disassembly."""
    pieces = _FUNCTION.split(sass)
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def _disassembled(library: Path) -> str:
    tool = find_tool("cuobjdump")
    if tool is None:
        return ""
    try:
        done = subprocess.run([tool, "-sass", str(library)], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
