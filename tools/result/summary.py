"""A run in figures: what `--json` prints and `summary.json` holds."""

from __future__ import annotations

from typing import Any, Literal

from ...benchmark.scoring import geometric_mean
from ..records import BuildSpec, EstimatedSpeedup, Record, Speedup

RunStatus = Literal[
    "improved", "no_gain", "waiting_model", "waiting_device", "stopped_budget", "failed", "running", "interrupted"
]
"""The first six are outcomes; a run that has none yet is running, or was interrupted and can be resumed."""


class Figure(Record):
    """One number with what it takes to read it."""

    value: float
    ci95: tuple[float, float] | None = None
    """Its 95 % interval; None: not measured repeatedly."""
    method: str
    """How it was found: `cold`, `warm`, `cost model`, …"""
    set: str
    """The cases it is over."""


class BestKernel(Record):
    """The kernel that won."""

    sha256: str
    """Of source and build options."""
    spec: BuildSpec
    round: int
    attempt: int
    strategy: str = ""
    file: str = ""
    """Path of the source."""
    verified: str = ""
    """One line: what was checked, on what."""


class Spent(Record):
    """Model calls, tokens and money of a run."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None: the price of the model is not known."""
    tokens_estimated: bool = False


class Question(Record):
    """What a paused run waits for."""

    id: str
    kind: str
    """`question` (a model's answer), `device`, or `budget`."""
    agent: str = ""
    prompt: str = ""
    reason: str = ""


class Summary(Record):
    """The outcome of a run so far. `speedup` is from a GPU alone, `estimated_speedup` from the cost model alone."""

    schema_version: int = 1
    run: str
    unit: str
    task: str
    precision: str
    device: str
    gpu: str = ""
    model: str = ""
    status: RunStatus
    reason: str = ""
    """One line; empty where the status says all."""
    speedup: Figure | None = None
    """Geometric mean over the cases, baseline time ÷ best time."""
    weighted_speedup: Figure | None = None
    """The paper's P: weighted by the cases' complexity."""
    efficiency: Figure | None = None
    """Floor ÷ time: 1 is as fast as this GPU can be. Where nothing won: of the kernel that the run started from."""
    estimated_speedup: Figure | None = None
    estimated_weighted_speedup: Figure | None = None
    estimated_efficiency: Figure | None = None
    reference: str = ""
    """What outputs were compared with: `definition`, or `the original kernel` (differential, with a widened bound)."""
    best: BestKernel | None = None
    """None if nothing won."""
    rounds: int = 0
    """Rounds finished."""
    attempts: int = 0
    spent: Spent = Spent()
    result: str = ""
    """The result folder; empty while there is none."""
    questions: tuple[Question, ...] = ()
    """Open ones."""

    @property
    def exit_code(self) -> int:
        """What the command line ends with."""
        return {"improved": 0, "no_gain": 0, "waiting_model": 3, "waiting_device": 3, "stopped_budget": 4, "failed": 1}[
            self.status
        ]

    @property
    def gain(self) -> Figure | None:
        """The headline, measured or estimated."""
        return self.speedup or self.estimated_speedup


def figures(gain: Speedup | EstimatedSpeedup) -> dict[str, Any]:
    """Return the fields of a `Summary` that a gain fills."""
    where = {"method": gain.method, "set": ",".join(dict.fromkeys(case.set for case in gain.cases))}
    weighted = Figure(value=gain.weighted, **where)
    efficiency = Figure(value=gain.efficiency, **where) if gain.efficiency is not None else None
    if isinstance(gain, Speedup):
        mean = gain.geomean
        return {
            "speedup": Figure(value=mean.value, ci95=(mean.low, mean.high), **where),
            "weighted_speedup": weighted,
            "efficiency": efficiency,
        }
    return {
        "estimated_speedup": Figure(value=gain.geomean, **where),
        "estimated_weighted_speedup": weighted,
        "estimated_efficiency": efficiency,
    }


def figures_without_gain(beside: Speedup | EstimatedSpeedup) -> dict[str, Any]:
    """Return the fields that are known where nothing won: what the baseline reached, timed beside a candidate."""
    cases = [case for case in beside.cases if case.floor_us]
    if not cases:
        return {}
    reached = geometric_mean([min(1.0, (case.floor_us or 0.0) / case.baseline_us) for case in cases])
    figure = Figure(value=reached, method=beside.method, set=",".join(dict.fromkeys(case.set for case in cases)))
    return {"efficiency" if isinstance(beside, Speedup) else "estimated_efficiency": figure}
