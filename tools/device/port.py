"""The port that every device implements, and the faults it may raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..records import Build, Candidate, CaseEvidence, EstimatedSpeedup, Profile, Record, Speedup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DeviceUnavailable(RuntimeError):
    """This machine lacks what the device needs. The message says what, and how to get it."""


class Unsupported(RuntimeError):
    """The device can't do this (a construct, a size, a tool); never the candidate's fault."""


class DeviceInfo(Record):
    """What a device is, for records, prompts and `doctor`."""

    name: Literal["cuda", "cpu"]
    gpu: str
    """The GPU, e.g. `NVIDIA H200`; on the cpu device the GPU that the cost model describes."""
    arch: str
    """E.g. `sm_90`."""
    multiprocessors: int
    driver: str = ""
    toolkit: str = ""
    compiler: str = ""
    """What compiles candidates, with its version."""
    nvcc: str = ""
    """Version of nvcc; empty: candidates are not checked with nvcc."""
    rates: Mapping[str, float] = {}
    """Ceilings in use, by their names in `GpuModel`: calibrated where `doctor --calibrate` ran."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallResult:
    """What one call of the entry function left behind. The judge compares; the runner knows no answer."""

    status: Literal["ok", "launch_error", "crash", "timeout"]
    message: str = ""
    outputs: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Raw output arrays in their storage type (float32, uint16 bits of bf16, int32), in the argument's shape."""
    unwritten: Mapping[str, int] = field(default_factory=dict)
    """Elements of an output that still hold the poison pattern."""
    damage: tuple[str, ...] = ()
    """Guard bands hit, inputs changed: one sentence each."""
    wall_us: float = 0.0
    """Host time of call and synchronize, microseconds."""


class CallFailed(RuntimeError):
    """A call that was to be timed or profiled failed; `result` says how, `library` whose it was."""

    def __init__(self, result: CallResult, library: Literal["baseline", "candidate"] = "candidate") -> None:
        super().__init__(f"{library}: {result.status}: {result.message}")
        self.result, self.library = result, library


class Runner(Protocol):
    """One process, in a session of its own, with one library loaded. A context manager: leaving it kills the group."""

    def load_case(self, case: Case, arrays: Mapping[str, NDArray[Any]], *, new_pointers: bool = True) -> None:
        """Put a case's arrays (storage type) on the device. `new_pointers=False` reuses the last case's buffers."""

    def call(self, poison: int = 0xFF, positions: Mapping[str, NDArray[np.int64]] | None = None) -> CallResult:
        """Poison outputs and workspace, call the entry once, synchronize, and bring everything back.

        Of an output named in `positions` only those elements (flat, ascending) come back, as a 1-D array.
        """

    def hold(self) -> AbstractContextManager[None]:
        """Return a context in which the device is this process's alone; without it others may disturb and wait."""

    def close(self) -> None:
        """End the process and all that it started."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Sampler(Protocol):
    """Times some of several builds beside each other."""

    def __call__(self, numbers: Sequence[int], calls: int) -> Mapping[int, tuple[float, ...]]:
        """Return what the builds of these numbers take at each timed case, microseconds, from so many calls each.

        One that failed is left out.
        """


class Device(Protocol):
    """Builds, runs, times and profiles candidates."""

    name: Literal["cuda", "cpu"]

    def info(self) -> DeviceInfo:
        """Describe the device.

        Raises:
            DeviceUnavailable: it is not to be had on this machine.
        """

    def build(self, candidate: Candidate, task: Task, precision: Precision) -> Build:
        """Compile a candidate to a shared object, cached by content. Never raises for a bad candidate."""

    def open(self, build: Build, task: Task, precision: Precision) -> Runner:
        """Start a process with this library loaded."""

    def compare(
        self,
        baseline: Build,
        candidate: Build,
        task: Task,
        precision: Precision,
        cases: Sequence[Case],
        to_beat: float | None = None,
    ) -> Speedup | EstimatedSpeedup:
        """Time (cuda) or estimate (cpu) baseline and candidate at these cases.

        With `to_beat`, a gain, the measurement may end as soon as it is known whether the candidate gains more.
        """

    def sampling(self, builds: Sequence[Build], task: Task, precision: Precision) -> AbstractContextManager[Sampler]:
        """Make ready to tell roughly how quick each build is: enough to drop what is slower, no verdict on anything.

        Raises:
            Unsupported: this device's times are too rough for that.
        """

    def timed_cases(self, task: Task) -> tuple[Case, ...]:
        """Return the cases at which this device times or estimates a task (cuda: the paper set)."""

    def checked_cases(self, task: Task) -> tuple[Case, ...]:
        """Return the cases that this device can afford to check, cheapest first."""

    def profile(self, build: Build, task: Task, precision: Precision, case: Case) -> Profile:
        """Count what the launches of one call do.

        Raises:
            Unsupported: no counters here; the message says why and what to do.
        """

    def sanitize(
        self, build: Build, task: Task, precision: Precision, cases: Sequence[Case]
    ) -> tuple[CaseEvidence, ...]:
        """Look for races, out-of-bounds and uninitialised accesses in a call at each case; nothing returned: none.

        Raises:
            Unsupported: no such tool here.
        """
