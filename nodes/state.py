"""What the graph remembers between two nodes: plain JSON values, with everything long kept in the store by its hash."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from ..tools.records import BuildSpec, Record

SCHEMA_VERSION = 1

Agent = Literal["planner", "coder", "compiler", "debugger"]
"""The four nodes that ask a model."""

NodeName = Literal[
    "prepare",
    "planner",
    "coder",
    "compiler",
    "build",
    "tuner",
    "run",
    "profiler",
    "recorder",
    "finisher",
    "debugger",
    "__end__",
]


class Version(Record):
    """One version of the kernel as the state holds it: hashes of artifacts, and the figure that ranks it."""

    source: str
    """Artifact: the CUDA source."""
    spec: BuildSpec = BuildSpec()
    build: str = ""
    """Artifact: the Build."""
    verdict: str = ""
    """Artifact: the Verdict."""
    gain: str = ""
    """Artifact: the Speedup or EstimatedSpeedup over the baseline; empty for the baseline itself."""
    first_gain: str = ""
    """Artifact, of the baseline alone: the first gain that a candidate had over it, or loss."""
    value: float = 1.0
    """Geometric mean of the gain over the cases (measured or estimated, as the device says)."""
    tuned: str = ""
    """What a search of its constants found; empty if there was none."""
    profile: str = ""
    """Artifact: the Profile; empty if there is none."""
    diagnosis: str = ""
    """Artifact: the Diagnosis; empty if there is none."""
    bottleneck: str = ""
    """The class that the profile belongs to; empty if there is none."""
    round: int = 0
    attempt: int = 0


class Word(Record):
    """The last word on the current candidate: a judge's status, or `unreadable` for an answer that held none."""

    status: str
    summary: str = ""
    """One line."""
    detail: str = ""
    """Artifact: the evidence in full."""


class Input(TypedDict, total=False):
    """What a run starts from."""

    task: str
    """Name of a task of the benchmark, or the folder of one's own."""
    precision: str
    source: str
    """Artifact: the CUDA source to start from; absent or empty: the task's own baseline."""
    source_name: str
    """Its file name, for the report."""


class State(Input, total=False):
    """The channels of the graph. Only the history and the plans grow; a node returns the channels that it changes."""

    schema_version: int
    route: NodeName
    """The node that comes next: nodes decide, routers only read it."""
    round: int
    """From 1."""
    attempt: int
    """0: the Coder's candidate; n: after n repairs."""
    asks: int
    """Unreadable answers that the current agent gave in this visit (0 or 1)."""
    complaint: str
    """What was wrong with the last answer."""
    tries: int
    """Times that the current node was tried again for a fault that is not the candidate's (0 or 1)."""
    hardware: dict[str, Any]
    """DeviceInfo."""
    baseline: dict[str, Any]
    """Version."""
    best: dict[str, Any]
    """Version: what every round starts from."""
    winners: list[dict[str, Any]]
    """Versions that were a new best, oldest first."""
    plan: dict[str, Any] | None
    """Plan."""
    plans: Annotated[list[str], operator.add]
    """Artifacts: every Plan of the run, with its reasoning, oldest first."""
    candidate: dict[str, Any] | None
    """Version: what this round works on."""
    improved: bool
    """The candidate is a new best."""
    word: dict[str, Any] | None
    """Word on the candidate."""
    tokens: dict[str, int]
    """Input and output tokens since the last record in the history."""
    history: Annotated[list[dict[str, Any]], operator.add]
    """Attempts, oldest first."""
    stop: str
    """Why the run ends before its last round, or failed; empty: it does not."""
    resume_at: NodeName
    """The node at which a run goes on that stopped on its budget."""
    status: str
    """The terminal status; empty while the run goes on."""
    result: dict[str, Any]
    """Summary of the finished run."""
