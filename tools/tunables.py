"""Constants of a source whose best value only a device can tell: marked, so that a search may change them.

constexpr int threads_of_block = 256;  // tune: 256 128 512 1024
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Final, NamedTuple

TUNE: Final = "tune"
"""The strategy that searches all constants of the best kernel, and changes nothing else."""
MOST: Final = 16
"""Versions of a source that are tried at most."""

_LINE: Final = re.compile(r"^([ \t]*(?:static )?constexpr int (\w+) = )(\d+)(;[ \t]*// tune: *([\d ]+?)[ \t]*)$", re.M)


class Tunable(NamedTuple):
    """A marked constant."""

    name: str
    value: int
    choices: tuple[int, ...]


def tunables(source: str) -> tuple[Tunable, ...]:
    """Return the marked constants of a source, in their order, that have another value to try."""
    found = (Tunable(m[2], int(m[3]), tuple(map(int, m[5].split()))) for m in _LINE.finditer(source))
    return tuple(one for one in found if set(one.choices) - {one.value})


def marked(name: str, choices: Iterable[int]) -> str:
    """Return the line that declares a constant which may be changed. Its value is the first choice."""
    listed = list(map(str, choices))
    return f"constexpr int {name} = {listed[0]};  // tune: {' '.join(listed)}\n"


def with_values(source: str, values: Mapping[str, int]) -> str:
    """Return a source with other values of its marked constants."""
    return _LINE.sub(lambda m: f"{m[1]}{values.get(m[2], m[3])}{m[4]}", source)


def before_tuning(source: str) -> str:
    """Return a source with each marked constant at its first choice: as it was before any search."""
    return with_values(source, {one.name: one.choices[0] for one in tunables(source)})


def versions(source: str, names: Iterable[str]) -> list[dict[str, int]]:
    """Return the values to try for these constants, those that the source has first: all combinations.

    Where these are too many, one constant at a time takes another value.
    """
    chosen = [one for one in tunables(source) if one.name in set(names)]
    now = {one.name: one.value for one in chosen}
    other = {one.name: [v for v in dict.fromkeys(one.choices) if v != one.value] for one in chosen}
    together = [dict(zip(now, values, strict=True)) for values in product(*([now[n], *other[n]] for n in now))]
    if len(together) > MOST:
        together = [now, *({**now, name: value} for name in now for value in other[name])]
    return together[:MOST]
