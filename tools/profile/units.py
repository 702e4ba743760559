"""Units as Nsight Compute prints them, scaled or not, brought to the registry's base units."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1e6),
    **dict.fromkeys(("ms", "msec", "msecond", "millisecond"), 1e3),
    **dict.fromkeys(("us", "usec", "usecond", "microsecond", "µs"), 1.0),
    **dict.fromkeys(("ns", "nsec", "nsecond", "nanosecond"), 1e-3),
}
"""Microseconds per unit."""

_PREFIXES: Final = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
"""Nsight Compute scales by powers of 1000, bytes too."""

_BASES: Final = ("byte", "sector", "inst", "cycle", "hz", "request", "thread", "warp", "block", "register")


class UnknownUnit(ValueError):
    """A unit that this program can't convert: reading it as if it were the base unit would be a silent mistake."""


def to_base(value: float, unit: str, wanted: str) -> float:
    """Convert a printed value to the wanted base unit (`us`, `byte`, `byte/block`, `%`, `sector`, …).

    Raises:
        UnknownUnit: the printed unit is not a scaled form of the wanted one.
    """
    if wanted == "us":
        try:
            return value * _SECONDS[unit]
        except KeyError:
            raise UnknownUnit(f"unit {unit!r} is no time: expected ns, us, ms or s") from None
    head, _, tail = unit.partition("/")
    wanted_head, _, wanted_tail = wanted.partition("/")
    if wanted_head == "byte":
        scaled = re.fullmatch(r"([KMGTP]?)(?:byte|B)s?", head)
        if scaled and tail.rstrip("s") == wanted_tail:
            return value * _PREFIXES[scaled[1]]
        raise UnknownUnit(f"unit {unit!r} is not a scaled {wanted!r}")
    scaled = re.fullmatch(rf"([KkMGT])({'|'.join(_BASES)})s?", head)
    return value * _PREFIXES[scaled[1]] if scaled else value
