"""Conditions that say between what an index lies."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from .syntax import Kernel, Poly, add, shows, text

FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""How a comparison is written with its sides changed over."""
OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<="}
"""What holds where a comparison does not."""


@dataclass
class Limits:
    """`low <= variable < high`, polynomials; None where nothing is said."""

    low: Poly | None = None
    high: Poly | None = None

    def apart(self, other: Limits) -> bool:
        """Return whether nothing is inside both, for every size."""
        below = self.low is not None and other.high is not None and at_most(other.high, self.low)
        return below or (self.high is not None and other.low is not None and at_most(self.high, other.low))

    def lie_in(self, other: Limits) -> bool:
        """Return whether all that is inside is inside the others as well."""
        low = other.low is None or (self.low is not None and at_most(other.low, self.low))
        high = other.high is None or (self.high is not None and at_most(self.high, other.high))
        return low and high


def at_most(one: Poly, two: Poly) -> bool:
    """Return whether one polynomial is at most another for every size: they differ by a constant."""
    rest = add(two, one, -1)
    return set(rest) <= {()} and rest.get((), 0) >= 0


def compared(test: Node, names: set[str]) -> tuple[str, str, Node] | None:
    """Read a comparison of one of the names with something: name, sign and bound, the name on the left."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    sign = text(test.child_by_field_name("operator"))
    if text(left) not in names:
        left, right, sign = right, left, FLIPPED.get(sign, "")
    if text(left) not in names or sign not in FLIPPED or right is None:
        return None
    return text(left), sign, right


def narrow_down(
    kernel: Kernel, test: Node, names: dict[str, str], found: dict[str, Limits], *, left_out: bool = False
) -> bool:
    """Take `variable < bound` and the like into limits (with `left_out`, what holds where it does not).

    `names` says as what each variable is known. False for anything else, and for a bound that can't be compared.
    """
    parts = compared(test, set(names))
    bound = kernel.poly(parts[2]) if parts is not None else {}
    # An index may be known by what it is made of.
    if parts is None or any(shows(bound, n) for n in (*names, "threadIdx", "blockIdx")):
        return False
    name, sign, _ = parts
    sign = OPPOSITE[sign] if left_out else sign
    limits = found.setdefault(names[name], Limits())
    if sign in ("<", "<="):
        high = add(bound, {(): 1}) if sign == "<=" else bound
        if limits.high is not None and not at_most(high, limits.high):
            return at_most(limits.high, high)
        limits.high = high
    else:
        low = add(bound, {(): 1}) if sign == ">" else bound
        if limits.low is not None and not at_most(limits.low, low):
            return at_most(low, limits.low)
        limits.low = low
    return True
