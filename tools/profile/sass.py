"""What the machine code of each kernel consists of: instruction mix, access widths, tensor cores, local memory."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

from ..records import Record
from .ncu_csv import kernel_name

_INSTRUCTION: Final = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)")
_FUNCTION: Final = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)

_TENSOR: Final = ("HMMA", "HGMMA", "IMMA", "IGMMA", "DMMA", "QMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA", "OMMA")
_DOUBLE: Final = ("DFMA", "DADD", "DMUL", "DSETP", "DMNMX")


class SassMix(Record):
    """Static instruction counts of one kernel; branches and loops are not weighed."""

    kernel: str
    instructions: int
    """Without padding."""
    opcodes: dict[str, int]
    """Count by opcode without modifiers."""
    load_bits: dict[int, int]
    """Global loads by width in bits."""
    store_bits: dict[int, int]
    """Global stores by width in bits."""
    shared_load_bits: dict[int, int]
    """Shared-memory loads by width in bits."""
    tensor: int
    """Tensor-core instructions."""
    local_loads: int
    local_stores: int
    double: int
    """Double-precision arithmetic and conversions from or to double."""
    special: int
    """Special-function instructions (MUFU)."""
    atomics: int
    """Atomics on global memory, with or without a result."""
    barriers: int

    def share(self, count: int) -> float:
        """Return a count as a fraction of all instructions."""
        return count / self.instructions if self.instructions else 0.0


def parse_sass(text: str) -> dict[str, SassMix]:
    """Parse the text of `cuobjdump -sass` or `nvdisasm`: mixes by kernel name, as the text spells it "
    "(mangled or plain)."""
    starts = list(_FUNCTION.finditer(text))
    if not starts:
        starts = list(re.finditer(r"^\.text\.(\S+):", text, re.MULTILINE))
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return {match[1]: _mix(match[1], text[match.end() : end]) for match, end in zip(starts, ends, strict=False)}


def disassembler() -> str | None:
    """Return the path of cuobjdump: on PATH, beside nvcc, or from the toolkit's wheels; None if there is none."""
    if found := shutil.which("cuobjdump"):
        return found
    nvcc = shutil.which("nvcc")
    roots = [Path(nvcc).resolve().parent] if nvcc else []
    roots += sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin"), reverse=True)
    return next((str(root / "cuobjdump") for root in roots if (root / "cuobjdump").is_file()), None)


@cache
def disassemble(library: str) -> dict[str, SassMix]:
    """Return the mixes of a shared object's kernels by plain kernel name; empty without a disassembler "
    "or device code."""
    tool = disassembler()
    if tool is None or not library or not Path(library).is_file():
        return {}
    try:
        done = subprocess.run(
            [tool, "-sass", library], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {plain_name(name): mix for name, mix in parse_sass(done.stdout).items()} if done.returncode == 0 else {}


def plain_name(name: str) -> str:
    """Return a kernel's plain name from its mangled or spelled-out one (templates lose their arguments)."""
    if not name.startswith("_Z"):
        return kernel_name(name)
    rest, parts = name[2:].removeprefix("N"), []
    while match := re.match(r"(?:L)?(\d+)", rest):
        length = int(match[1])
        parts.append(rest[match.end() : match.end() + length])
        rest = rest[match.end() + length :]
        if not name.startswith("_ZN"):
            break
    return parts[-1] if parts else name


def _bits(modifiers: list[str]) -> int:
    for modifier in modifiers:
        if modifier in ("U8", "S8"):
            return 8
        if modifier in ("U16", "S16"):
            return 16
        if modifier in ("64", "128", "256"):
            return int(modifier)
    return 32


def _mix(name: str, text: str) -> SassMix:
    opcodes: Counter[str] = Counter()
    widths: dict[str, Counter[int]] = {"LDG": Counter(), "STG": Counter(), "LDS": Counter()}
    double = 0
    for match in _INSTRUCTION.finditer(text):
        opcode, modifiers = match[1], match[2].split(".")[1:]
        if opcode == "NOP":
            continue
        opcodes[opcode] += 1
        # Generic loads and stores (LD, ST) count as global: that is what pointers of unknown space nearly always are.
        family = {"LD": "LDG", "ST": "STG"}.get(opcode, opcode)
        if family in widths:
            widths[family][_bits(modifiers)] += 1
        if opcode in _DOUBLE or "F64" in modifiers or (opcode == "MUFU" and any(m.endswith("64H") for m in modifiers)):
            double += 1
    return SassMix(
        kernel=plain_name(name),
        instructions=opcodes.total(),
        opcodes=dict(opcodes),
        load_bits=dict(widths["LDG"]),
        store_bits=dict(widths["STG"]),
        shared_load_bits=dict(widths["LDS"]),
        tensor=sum(opcodes[o] for o in _TENSOR),
        local_loads=opcodes["LDL"],
        local_stores=opcodes["STL"],
        double=double,
        special=opcodes["MUFU"],
        atomics=sum(opcodes[o] for o in ("RED", "REDG", "ATOM", "ATOMG")),
        barriers=opcodes["BAR"],
    )
