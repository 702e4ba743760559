"""The arithmetic of a candidate by kind: what each basic block of its host code would be on a GPU.

The trace build calls a marker at the start of every basic block, and the runtime counts how often each warp passes each
marker. What lies between two markers is read here from the disassembly. Additions, multiplications and the like are one
GPU instruction each; functions of the C library count as what nvcc makes of the CUDA function of that name.
Loads, stores, moves and calls of the runtime are left out: the tracer counts the memory accesses themselves.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from ...records import Record

_MARKER: Final = "__sanitizer_cov_trace_pc"


class Mix(Record):
    """Instructions by the pipe that runs them."""

    fp32: float = 0.0
    fp64: float = 0.0
    special: float = 0.0
    """Reciprocals, roots, exponentials, sines: the special-function pipe; conversions go there, too."""
    integer: float = 0.0
    """Integer, logic, comparisons, selections."""
    control: float = 0.0
    """Branches."""
    special_calls: float = 0.0
    """Functions, divisions and roots as the source has them, whatever their precision."""
    double_calls: float = 0.0
    """Of these, the ones in double precision."""

    @property
    def instructions(self) -> float:
        """All of them."""
        return self.fp32 + self.fp64 + self.special + self.integer + self.control


def total_mix(parts: Iterable[tuple[Mix, float]]) -> Mix:
    """Return the sum of mixes, each times a factor."""
    sums = dict.fromkeys(Mix.model_fields, 0.0)
    for mix, factor in parts:
        for name in sums:
            sums[name] += getattr(mix, name) * factor
    return Mix(**sums)


# What nvcc 13 makes of each function on its usual path: fp32, fp64, special, integer instructions.
_FUNCTIONS: Final[dict[str, tuple[int, int, int, int]]] = {
    "expf": (8, 0, 1, 1), "exp2f": (2, 0, 1, 0), "exp10f": (8, 0, 1, 1), "expm1f": (20, 0, 1, 0),
    "logf": (14, 0, 0, 5), "log2f": (15, 0, 0, 5), "log10f": (15, 0, 0, 5), "log1pf": (16, 0, 0, 7),
    "sinf": (14, 0, 1, 8), "cosf": (14, 0, 1, 8), "sincosf": (24, 0, 1, 10), "tanf": (18, 0, 2, 8),
    "asinf": (20, 0, 1, 0), "acosf": (22, 0, 1, 0), "atanf": (17, 0, 1, 0), "atan2f": (22, 0, 1, 4),
    "sinhf": (18, 0, 2, 1), "coshf": (13, 0, 2, 1), "tanhf": (9, 0, 2, 0),
    "asinhf": (28, 0, 2, 7), "acoshf": (28, 0, 1, 8), "atanhf": (24, 0, 1, 7),
    "erff": (18, 0, 1, 0), "erfcf": (47, 0, 3, 1), "cbrtf": (10, 0, 2, 0), "powf": (50, 0, 2, 15),
    "fmodf": (16, 0, 2, 10), "hypotf": (11, 0, 1, 5), "lgammaf": (80, 0, 2, 24), "tgammaf": (70, 0, 4, 14),
    "exp": (3, 19, 0, 12), "exp2": (3, 22, 0, 12), "exp10": (3, 23, 0, 12), "expm1": (2, 27, 0, 12),
    "log": (1, 34, 1, 20), "log2": (1, 36, 1, 20), "log10": (1, 36, 1, 20), "log1p": (3, 45, 2, 22),
    "sin": (0, 20, 1, 14), "cos": (0, 20, 1, 14), "sincos": (0, 34, 1, 18), "tan": (0, 39, 2, 12),
    "asin": (2, 40, 1, 8), "acos": (0, 42, 1, 12), "atan": (0, 33, 1, 0), "atan2": (0, 42, 1, 4),
    "sinh": (0, 36, 1, 16), "cosh": (0, 23, 1, 14), "tanh": (4, 32, 2, 6),
    "asinh": (3, 60, 3, 24), "acosh": (3, 60, 3, 24), "atanh": (3, 55, 3, 24),
    "erf": (4, 45, 1, 0), "erfc": (0, 65, 2, 20), "cbrt": (4, 18, 3, 20), "pow": (0, 50, 1, 40),
    "fmod": (0, 11, 1, 80), "hypot": (0, 18, 1, 12), "lgamma": (1, 62, 2, 40), "tgamma": (8, 120, 6, 60),
    "cpusim_fast_expf": (1, 0, 1, 0), "cpusim_fast_logf": (1, 0, 1, 0), "cpusim_fast_log2f": (0, 0, 1, 0),
    "cpusim_fast_log10f": (1, 0, 1, 0), "cpusim_fast_tanhf": (0, 0, 1, 0), "cpusim_fast_sinf": (1, 0, 1, 0),
    "cpusim_fast_cosf": (1, 0, 1, 0), "cpusim_fast_tanf": (2, 0, 3, 0), "cpusim_fast_powf": (1, 0, 2, 0),
    "cpusim_fast_divf": (1, 0, 1, 0), "cpusim_fast_rsqrtf": (0, 0, 1, 1),
}  # fmt: skip
_DIVISION: Final = {"ss": (8, 0, 1, 1), "sd": (0, 9, 1, 3)}
_ROOT: Final = {"ss": (7, 0, 1, 1), "sd": (0, 10, 1, 3)}
_ROUNDING: Final = {"fmaxf": "ss", "fminf": "ss", "fmax": "sd", "fmin": "sd", "roundf": "ss", "round": "sd"}
_FAST: Final = "cpusim_fast_"
"""Before the names of approximate functions, which `-use_fast_math` takes everywhere."""

_FLOAT: Final = re.compile(r"v?(?:add|sub|mul|min|max|f(?:n?)m(?:add|sub)\d+|u?comi|cmp\w*|round)(ss|sd)$")
_INTEGER: Final = re.compile(
    r"(?:add|adc|sub|sbb|imul|mul|and|or|xor|not|neg|inc|dec|sh[lr]|sa[lr]|ro[lr]|cmp|test|lea|bts?|cmov\w+|set\w+|sh[lr]d"
    r"|sarx|shlx|shrx|rorx|andn|bextr|popcnt|lzcnt|tzcnt|bs[fr]|bswap)$"
)
_INTEGER_DIVISION: Final = 22
"""Instructions of a 32-bit division by a variable."""


@cache
def instruction_mix(library: Path) -> dict[int, Mix]:
    """Return the GPU instructions of each basic block of a trace library, by the address behind its marker's call.

    A machine without objdump gives an empty answer.
    """
    flags = library.parent / "flags"
    fast_math = flags.is_file() and "-D__USE_FAST_MATH__" in flags.read_text()
    try:
        done = subprocess.run(
            ["objdump", "-d", "-w", "-M", "intel", "--no-show-raw-insn", str(library)],
            capture_output=True, text=True, errors="replace", timeout=60,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return read_blocks(done.stdout.splitlines(), fast_math=fast_math)


def read_blocks(disassembly: Iterable[str], *, fast_math: bool = False) -> dict[int, Mix]:
    """Read `objdump`'s lines: what follows a marker's call belongs to it, up to the next one or a jump away."""
    blocks: dict[int, Mix] = {}
    key: int | None = None
    marked = False
    sums: dict[str, float] = {}
    for row in disassembly:
        address, _, rest = row.partition(":\t")
        if not rest:
            continue
        words = rest.split(None, 1)
        if not words:
            continue
        opcode, operands = words[0], words[1] if len(words) > 1 else ""
        if marked:
            key, marked, sums = int(address, 16), False, {}
            blocks[key] = Mix()
        if opcode == "call" and _MARKER in operands:
            _close(blocks, key, sums)
            key, marked = None, True
            continue
        if key is None:
            continue
        _count(sums, opcode, operands, fast_math)
        if opcode in ("jmp", "ret"):
            _close(blocks, key, sums)
            key = None
    _close(blocks, key, sums)
    return blocks


def _close(blocks: dict[int, Mix], key: int | None, sums: dict[str, float]) -> None:
    if key is not None:
        blocks[key] = Mix(**sums)


def _count(sums: dict[str, float], opcode: str, operands: str, fast_math: bool) -> None:
    def add(name: str, value: float = 1) -> None:
        sums[name] = sums.get(name, 0.0) + value

    def expand(parts: tuple[int, int, int, int], *, double: bool) -> None:
        for name, value in zip(("fp32", "fp64", "special", "integer"), parts, strict=True):
            if value:
                add(name, value)
        add("special_calls")
        if double:
            add("double_calls")

    plain = opcode.removeprefix("v")
    if number := _FLOAT.match(opcode):
        add("fp32" if number[1] == "ss" else "fp64")
    elif plain in ("divss", "divsd"):
        expand(
            _FUNCTIONS[_FAST + "divf"] if fast_math and plain == "divss" else _DIVISION[plain[3:]],
            double=plain == "divsd",
        )
    elif plain in ("sqrtss", "sqrtsd"):
        expand(_ROOT[plain[4:]], double=plain == "sqrtsd")
    elif plain.startswith("cvt"):
        add("special")
    elif opcode in ("idiv", "div"):
        add("integer", _INTEGER_DIVISION)
    elif opcode == "call":
        called = re.search(r"<([\w.]+)(?:@plt)?>", operands)
        name = called[1] if called else ""
        name = _FAST + name if fast_math and _FAST + name in _FUNCTIONS else name
        if name in _FUNCTIONS:
            expand(_FUNCTIONS[name], double=_FUNCTIONS[name][1] > 0)
        elif name in _ROUNDING:
            add("fp32" if _ROUNDING[name] == "ss" else "fp64")
    elif opcode.startswith("j"):
        add("control")
    elif _INTEGER.match(opcode) and not _host_alone(opcode, operands):
        add("integer")


def _host_alone(opcode: str, operands: str) -> bool:
    """Arithmetic on the stack pointer, and x ^ x, which is how the host writes zero."""
    return operands.startswith("rsp") or (opcode == "xor" and len(set(operands.split(","))) == 1)
