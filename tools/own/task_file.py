"""The text of task.py: short, readable, and every guess marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...benchmark.contract import DType, Role
from .guess import Guess
from .launcher import Launcher

GUESSED = "GUESSED"

_MAKERS = {Role.IN: "array_in", Role.OUT: "array_out", Role.INOUT: "array_inout"}
_SIZES: dict[int, tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    1: ([(1,), (31,), (257,), (1000,), (4099,)], [(2**16,), (2**20,), (2**24,)], [(77,), (65_537,)]),
    2: ([(1, 1), (3, 31), (33, 257), (64, 128)], [(128, 512), (1024, 1024), (4096, 4096)], [(17, 1000)]),
    3: (
        [(1, 1, 1), (5, 17, 33), (64, 48, 32)],
        [(128, 128, 128), (512, 512, 512), (1024, 1024, 1024)],
        [(100, 36, 70)],
    ),
    4: ([(1, 1, 1, 1), (2, 3, 17, 33), (2, 4, 32, 16)], [(4, 8, 128, 64), (8, 16, 512, 64)], [(3, 5, 65, 31)]),
}
"""Small, timed and hidden sizes by the number of size parameters."""


def size_sets(names: Sequence[str], multiple: int) -> dict[str, list[dict[str, int]]]:
    """Return the guessed sizes, each rounded up to a multiple."""
    if not names:
        return {"small": [{}], "timed": [{}], "hidden": []}
    sets = _SIZES[min(len(names), 4)]
    found: dict[str, list[dict[str, int]]] = {}
    for kind, listed in zip(("small", "timed", "hidden"), sets, strict=True):
        rows = [dict(zip(names, [*values, *[2] * (len(names) - len(values))], strict=True)) for values in listed]
        rounded = [{name: -(-value // multiple) * multiple for name, value in row.items()} for row in rows]
        found[kind] = [row for place, row in enumerate(rounded) if row not in rounded[:place]]
    return found


def task_text(
    launcher: Launcher,
    guesses: Mapping[str, Guess],
    given: frozenset[str],
    *,
    entry: str,
    scratch: Sequence[str],
    title: str,
    multiple: int,
    reference: str,
    reference_name: str,
) -> str:
    """Return task.py. `given`: parameters of which the user said what they are; `reference`: Python to put in."""
    sizes = [n for n, g in guesses.items() if g.role is Role.SIZE]
    scalars = {
        n: int(g.value) if g.value.is_integer() else g.value for n, g in guesses.items() if g.role is Role.SCALAR
    }
    arguments = []
    for p in launcher.plain:
        g = guesses[p.name]
        if p.name in scratch:
            continue
        if g.role is Role.SIZE:
            made = f'size("{p.name}")'
        elif g.role is Role.SCALAR:
            made = f'scalar("{p.name}")' if p.type in ("float", "double") else f'scalar("{p.name}", DType.I32)'
        else:
            dtype = launcher.element(p)
            kind = "" if dtype is DType.STORAGE else f", dtype=DType.{dtype.name}"
            made = f'{_MAKERS[g.role]}("{p.name}", "{g.shape}"{kind})'
        mark = "" if p.name in given else f"  # {GUESSED}: {g.why}"
        arguments.append(f"        {made},{mark}")
    below = {n: g.below for n, g in guesses.items() if g.below}
    names = [
        name
        for name, used in (
            ("DType", any("DType." in line for line in arguments)),
            *((maker, any(f"{maker}(" in line for line in arguments)) for maker in _MAKERS.values()),
            ("scalar", any("scalar(" in line for line in arguments)),
            ("size", any(" size(" in line for line in arguments)),
        )
        if used
    ]
    lines = [
        f'"""{title}',
        "",
        f"Lines marked {GUESSED} were read from the source: check them.",
        '"""',
        "",
        f"from cudamaster.benchmark.contract import {', '.join(['Contract', *names])}",
        "from cudamaster.tools.own.task import own_task",
        "",
        *([reference.strip(), ""] if reference else []),
        "CONTRACT = Contract(",
        f'    entry="{entry}",',
        "    arguments=(",
        *arguments,
        "    ),",
        ")",
        "",
        "TASK = own_task(",
        "    __file__,",
        "    CONTRACT,",
    ]
    for kind, rows in size_sets(sizes, multiple).items():
        lines.append(f"    {kind}={rows!r},  # {GUESSED}")
    if multiple > 1:
        lines.append(f"    multiple_of={multiple},  # {GUESSED}: the original fails at other sizes")
    lines.append(
        f'    complexity="{" * ".join(sizes) or "1"}",  # {GUESSED}: operations, to know what a CPU can afford'
    )
    if scalars:
        lines.append(f"    scalars={scalars!r}," + ("" if given >= set(scalars) else f"  # {GUESSED}"))
    if below:
        lines.append(f"    below={below!r},  # {GUESSED}: arrays of indices stay below")
    if reference_name:
        lines.append(f"    reference={reference_name},")
    else:
        lines.append(
            "    # No definition: a candidate is compared with the original kernel, with a bound twice as wide."
        )
        lines.append("    # Better: reference=f, a Python function of the inputs, sizes and scalars, in float64.")
        lines.append("    reference=None,")
    return "\n".join([*lines, ")", ""])
