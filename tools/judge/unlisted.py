"""Two sizes that stand in no list, between those that are timed: a kernel tuned to the listed ones shows there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ...benchmark.scoring import geometric_mean
from ...benchmark.task import Case, CaseSet, Task
from ..records import EstimatedSpeedup, Speedup

TUNED_BELOW: Final = 0.8
"""A gain below this part of the smaller of its neighbours' is reported."""
_TRIES: Final = 64


@dataclass(frozen=True)
class Unlisted:
    """A case between two timed ones."""

    case: Case
    neighbours: tuple[str, str]
    """Names of the timed cases on either side."""


def unlisted_cases(task: Task, timed: Sequence[Case], random: Random) -> tuple[Unlisted, ...]:
    """Return up to two new cases between neighbours among the timed ones: round sizes, then odd ones.

    Fewer where the task allows no other sizes.
    """
    found: list[Unlisted] = []
    pairs = _neighbours(timed)
    listed = [case.sizes for case in task.cases]
    for odd in (False, True):
        for _ in range(_TRIES if pairs else 0):
            a, b = random.choice(pairs)
            sizes = {name: _between(a.sizes[name], b.sizes[name], odd, random) for name in a.sizes}
            case = a.model_copy(update={"set": CaseSet.HIDDEN, "sizes": sizes})
            if sizes not in listed and task.legal(case):
                found.append(Unlisted(case, (a.name, b.name)))
                break
    return tuple(found)


def _at_neighbours(one: Unlisted, gain: Speedup | EstimatedSpeedup) -> float:
    """Return the smaller gain of the two timed cases beside it."""
    return min(timed.ratio.value for timed in gain.cases if timed.case in one.neighbours)


def least_expected(unlisted: Sequence[Unlisted], gain: Speedup | EstimatedSpeedup) -> float:
    """Return the mean gain at these cases from which a kernel is not tuned to the listed sizes."""
    return TUNED_BELOW * geometric_mean([_at_neighbours(one, gain) for one in unlisted])


def tuned_to_sizes(
    unlisted: Sequence[Unlisted], there: Speedup | EstimatedSpeedup, gain: Speedup | EstimatedSpeedup
) -> tuple[str, ...]:
    """Return a sentence for each unlisted case at which much less is gained than on both sides of it."""
    at = {one.case: one.ratio.value for one in there.cases}
    found = []
    for one in unlisted:
        least = _at_neighbours(one, gain)
        if at[one.case.name] < TUNED_BELOW * least:
            found.append(
                f"tuned to sizes: {at[one.case.name]:.3g}x at {one.case.name}, which stands in no list, "
                f"but at least {least:.3g}x at its neighbours"
            )
    return tuple(found)


def _neighbours(timed: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Return the pairs of which one is no smaller in any size, and no other case lies between them."""

    def below(a: Case, b: Case) -> bool:
        alike = (a.scalars, a.distribution, a.null, a.exact) == (b.scalars, b.distribution, b.null, b.exact)
        return alike and a.sizes != b.sizes and all(a.sizes[name] <= b.sizes[name] for name in a.sizes)

    pairs = [(a, b) for a in timed for b in timed if below(a, b)]
    return [(a, b) for a, b in pairs if not any(below(a, c) and below(c, b) for c in timed)]


def _between(a: int, b: int, odd: bool, random: Random) -> int:
    """Return a size between two; where they are equal, that size, or for an odd one a little less."""
    low, high = sorted((a, b))
    if low == high or low == 0:
        return low - 1 - random.randrange(min(8, low - 1)) if odd and low > 16 else low
    middle = math.exp(random.uniform(math.log(low * 1.2), math.log(high / 1.2))) if high > 2 * low else (low + high) / 2
    step = max(1, min(64, low // 4))
    rounded = max(1, round(middle / step)) * step
    return rounded - 1 if odd and rounded > 2 else rounded
