"""What is measured of two libraries at one case, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ....benchmark.task import Case

Side = Literal["baseline", "candidate"]
SIDES: Final[tuple[Side, Side]] = ("baseline", "candidate")

_CLOSER_LOOK: Final = 5
"""Processes of a candidate before it is said that most of them show something."""
_DEAR_BYTES: Final = 256 << 20
"""To put so much on the device takes longer than most calls."""


@dataclass(frozen=True)
class Schedule:
    """How often a library is timed at a case: in how many fresh processes, in how many turns there, calls per turn."""

    processes: int
    turns: int
    calls: int


def schedule(first_us: float, array_bytes: int) -> Schedule:
    """Decide from a library's first cold time and the size of the case's arrays.

    A process adds up to half a microsecond to every launch, so short calls are timed in many; long ones hardly feel it.
    Each library has its own schedule: else a slow baseline would cost a quick candidate its samples, and a slow
    candidate would hold the GPU for minutes. All samples count, so one that feigns a slow first call gains nothing.
    """
    if first_us > 20_000:
        return Schedule(2, 1, 1)
    if first_us > 2_000:
        return Schedule(3, 1, 1)
    processes, turns, calls = (4, 2, 3) if first_us > 200 else (8, 2, 12)
    return Schedule(min(processes, 3) if array_bytes > _DEAR_BYTES else processes, turns, calls)


@dataclass
class SideTimes:
    """What was measured of one library, microseconds; lists have an entry per process."""

    plan: Schedule | None = None
    cold: list[tuple[float, ...]] = field(default_factory=list)
    empty: list[tuple[float, ...]] = field(default_factory=list)
    """An empty launch, timed in the same process in the same way."""
    warm: tuple[float, ...] = ()
    wall: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Clocks:
    """One of the candidate's calls in one process by different clocks, microseconds."""

    claimed_us: float
    queue_us: float
    """Host time to queue it."""
    host_us: float
    driver_us: float


@dataclass
class CaseTimes:
    """What was measured at one case."""

    case: Case
    baseline: SideTimes = field(default_factory=SideTimes)
    candidate: SideTimes = field(default_factory=SideTimes)
    clocks: list[Clocks] = field(default_factory=list)
    """One entry per process of the candidate."""
    notes: list[str] = field(default_factory=list)

    def of(self, side: Side) -> SideTimes:
        """Return what was measured of one library."""
        return self.baseline if side == "baseline" else self.candidate

    def look_closer(self) -> None:
        """Time the candidate in some processes more: a busy host may have disturbed what was seen so far."""
        if (plan := self.candidate.plan) is not None:
            self.candidate.plan = replace(plan, processes=max(plan.processes, _CLOSER_LOOK))

    def sides(self, process: int) -> tuple[Side, ...]:
        """Return which libraries are timed in their process of this number."""
        return tuple(s for s in SIDES if (plan := self.of(s).plan) is None or process < plan.processes)
