"""What an agent is told, and the records that it is told in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from ..benchmark.contract import Precision
from ..tools.records import BuildSpec, Finding, Record

AgentName = Literal["planner", "coder", "compiler", "debugger"]
"""The four agents."""

AGENTS: tuple[AgentName, ...] = ("planner", "coder", "compiler", "debugger")


class Plan(Record):
    """One strategy, as the Planner states it."""

    strategy: str = Field(min_length=1, max_length=120)
    """A short name, e.g. `block_reduction`."""
    reasoning: str = Field(default="", max_length=4000)
    expected_effect: str = Field(default="", max_length=1000)
    metric: str = Field(default="", max_length=120)
    """The metric that the strategy should move."""


class Attempt(Record):
    """One candidate in the history of a run: at most 1 KB as JSON."""

    round: int
    attempt: int
    """0 is the Coder's candidate, 1 and up are repairs."""
    strategy: str = Field(max_length=120)
    metric: str = Field(default="", max_length=120)
    status: str
    speedup: float | None = None
    """Measured on a GPU against the baseline; None if it was not timed."""
    estimated_speedup: float | None = None
    """From the cpu device's cost model."""
    best: bool = False
    """It became the version that the next rounds start from."""
    bottleneck: str = ""
    note: str = Field(default="", max_length=400)
    """One line: why it failed, or what changed."""
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def gain(self) -> float | None:
        """The measured speedup, else the estimated one, else None."""
        return self.speedup if self.speedup is not None else self.estimated_speedup


def plans_by_round(history: Iterable[Attempt], plans: Iterable[Plan]) -> dict[int, Plan]:
    """Return the plan that each round was given; a strategy may be planned more than once."""
    rest, found = list(plans), {}
    for attempt in history:
        names = [plan.strategy for plan in rest]
        if attempt.attempt == 0 and attempt.strategy in names:
            place = names.index(attempt.strategy)
            found[attempt.round] = rest[place]
            rest = rest[place + 1 :]
    return found


class Brief(Record):
    """All that an agent knows when it is asked. Deterministic: no times, no paths, no random order."""

    agent: AgentName
    task_name: str
    precision: Precision
    contract: str
    """The two C++ prototypes, with a comment for each argument (`contract_text`)."""
    formula: str = ""
    sizes: str = ""
    """The sizes at which it is timed (`sizes_text`)."""
    hardware: str = ""
    """Facts of the GPU, one a line (`hardware_text`)."""
    source: str
    """The best kernel so far: a whole `.cu` file."""
    profile: str = ""
    """The chosen view of the best kernel's profile."""
    findings: tuple[Finding, ...] = ()
    whereabouts: tuple[str, ...] = ()
    """Where the best kernel's time goes, a fact a line."""
    times: str = ""
    """What the best kernel takes at each timed size, beside baseline and floor (`times_text`)."""
    history: tuple[Attempt, ...] = ()
    plan: Plan | None = None
    candidate: str = ""
    """Source of the candidate to compile or to repair."""
    spec: BuildSpec | None = None
    """How the candidate was built last."""
    error: str = ""
    """The compiler's log or the judge's evidence."""
    complaint: str = ""
    """What was wrong with the agent's previous answer."""
    tunes: bool = False
    """Constants that a source marks are searched."""
    round: int = 1
    rounds: int = 1
    variant: int = 1
    """Which of `variants` runs this is that look for the same kernel, each beginning with another strategy."""
    variants: int = 1
