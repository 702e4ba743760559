"""The nouns that travel between tools, nodes and files: frozen, JSON in and out, units in the names."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class Record(BaseModel):
    """A frozen value: unknown fields are ignored when an old file is read, bad ones raise."""

    model_config = ConfigDict(frozen=True, extra="ignore")


# --- candidates ------------------------------------------------------------------------------------------------------


class BuildSpec(Record):
    """How to compile a candidate: only options from an allow-list, never a free shell line."""

    standard: Literal["c++17", "c++20"] = "c++17"
    optimization: Literal["-O1", "-O2", "-O3"] = "-O3"
    arch: str | None = Field(default=None, pattern=r"^sm_[0-9]{2,3}[af]?$")
    """None: the architecture of the device."""
    fast_math: bool = False
    max_registers: int | None = Field(default=None, ge=16, le=255)
    unroll: int | None = Field(default=None, ge=1, le=64)
    """Passed as the macro UNROLL, for `#pragma unroll UNROLL`."""
    defines: dict[str, int] = {}
    """Macros with whole-number values; names are checked by the validator below."""

    def model_post_init(self, _context: object) -> None:
        """Check the macro names: they go on a command line."""
        for name in self.defines:
            if not name.isidentifier() or not name.isascii() or name.startswith("_") or len(name) > 64:
                raise ValueError(f"define {name!r} is not a plain macro name")


class Candidate(Record):
    """CUDA source and how to build it."""

    source: str
    spec: BuildSpec = BuildSpec()

    @property
    def sha256(self) -> str:
        """Identity: the hash of source and build options."""
        payload = json.dumps([self.source, self.spec.model_dump(mode="json")], sort_keys=True)
        return hashlib.sha256(payload.encode()).hexdigest()


class Resources(Record):
    """What ptxas says of one kernel."""

    kernel: str
    registers: int
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0


class Build(Record):
    """A candidate compiled (or not) for a device."""

    ok: bool
    library: str = ""
    """Path of the shared object; empty if the build failed."""
    device_code: str = ""
    """Path of a file with the GPU's machine code, where that is not `library` (the cpu device, checked with nvcc)."""
    log: str = ""
    command: tuple[str, ...] = ()
    """What was run, for the record and for the user's build script."""
    failure: Literal["", "source", "option", "arch", "unsupported", "infra"] = ""
    """Whose fault: the source's, a build option's, the architecture's, the device's, the machine's."""
    checked_with_nvcc: bool = False
    resources: tuple[Resources, ...] = ()
    seconds: float = 0.0


# --- verdicts --------------------------------------------------------------------------------------------------------


class Status(StrEnum):
    """The judge's word on a candidate."""

    PASS = "pass"
    BUILD_ERROR = "build_error"
    LAUNCH_ERROR = "launch_error"
    WRONG = "wrong"
    TIMEOUT = "timeout"
    CRASH = "crash"
    FORBIDDEN = "forbidden"
    SUSPECT = "suspect"
    UNCHANGED = "unchanged"
    NOISY = "noisy"
    UNSUPPORTED = "unsupported"
    INFRA_ERROR = "infra_error"

    @property
    def costs_a_repair(self) -> bool:
        """False where the candidate is not to blame."""
        return self not in (Status.UNSUPPORTED, Status.INFRA_ERROR)


class CaseEvidence(Record):
    """What was seen at one case."""

    case: str
    set: str
    seed: int
    ok: bool
    reason: str = ""
    """One sentence for a person or a model: what was wrong, where, what was expected."""
    output: str = ""
    """The output array concerned."""
    worst_ratio: float = 0.0
    """Largest |error| / bound over the elements (0 for exact comparisons that hold)."""
    bad_elements: int = 0
    elements: int = 0


class Verdict(Record):
    """The judge's answer, with evidence. Written by the judge alone."""

    status: Status
    summary: str
    """One line."""
    detail: str = ""
    """Evidence in full: compiler log, evidence of the failing cases, for a model or a person."""
    cases: tuple[CaseEvidence, ...] = ()
    notes: tuple[str, ...] = ()
    """What was seen besides, and does not decide: one sentence each."""
    checked_with_nvcc: bool = False
    device: str = ""

    @property
    def passed(self) -> bool:
        """True only for `pass`."""
        return self.status is Status.PASS


# --- time ------------------------------------------------------------------------------------------------------------


class Interval(Record):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


class Timing(Record):
    """Time of one library at one case, on a GPU."""

    case: str
    set: str
    method: Literal["cold", "warm", "wall"]
    """Device time with the L2 flushed before each call; device time with it warm; host time of call and synchronize."""
    time_us: Interval
    """Microseconds. Cold: mean over processes of their trimmed means, each less its launch offset; else the median."""
    samples: int
    sm_clock_mhz: float | None = None
    library: Literal["baseline", "candidate"] = "candidate"


class CaseGain(Record):
    """Baseline against candidate at one case."""

    case: str
    set: str
    complexity: int
    baseline_us: float
    candidate_us: float
    ratio: Interval
    """Baseline time ÷ candidate time."""
    floor_us: float | None = None
    efficiency: float | None = None
    """Floor ÷ candidate time."""


class Speedup(Record):
    """Measured on a GPU: baseline and candidate alternated in one session, in several pairs of processes."""

    kind: Literal["measured"] = "measured"
    method: str = "cold"
    cases: tuple[CaseGain, ...]
    geomean: Interval
    weighted: float
    """The paper's P = Σ T·S / Σ T."""
    efficiency: float | None = None
    """Geometric mean over the cases."""
    notes: tuple[str, ...] = ()
    """What the judge must know. `suspect:` decides the verdict; `noisy:` marks a case whose interval is wide."""
    timings: tuple[Timing, ...] = ()
    """Cold, warm and wall times of both libraries at each case."""


class EstimatedSpeedup(Record):
    """From the cpu device's cost model: an estimate, never mixed with a measured speedup."""

    kind: Literal["estimated"] = "estimated"
    method: str = "cost model"
    cases: tuple[CaseGain, ...]
    """Times in these records are estimates as well."""
    geomean: float
    weighted: float
    efficiency: float | None = None


Gain = Speedup | EstimatedSpeedup
"""Baseline against candidate, as the device can tell it."""

_GAIN: TypeAdapter[Gain] = TypeAdapter(Gain)


def read_gain(value: object) -> Gain:
    """Return the gain that a JSON-plain value holds.

    Raises:
        ValidationError: it holds none.
    """
    return _GAIN.validate_python(value)


# --- profile ---------------------------------------------------------------------------------------------------------


class Metric(Record):
    """One number about a kernel launch, in base units."""

    value: float
    unit: str
    source: Literal["measured", "modelled"] = "measured"


class LaunchProfile(Record):
    """One kernel launch. A metric that is not in `metrics` is absent."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    metrics: dict[str, Metric]
    line: int | None = None
    """Source line of the kernel, where known."""


class Profile(Record):
    """Counters of all launches of one call at one case."""

    device: Literal["cuda", "cpu"]
    gpu: str
    """The GPU measured, or modelled."""
    case: str
    launches: tuple[LaunchProfile, ...]
    note: str = ""


class Bottleneck(StrEnum):
    """The paper's three classes."""

    COMPUTE = "compute_bound"
    LATENCY = "memory_latency_bound"
    BANDWIDTH = "memory_bandwidth_bound"


class Finding(Record):
    """One deterministic statement about a kernel, with the most that fixing it could gain."""

    name: str
    """The finding's file name, e.g. `same_address_atomics`."""
    sentence: str
    """What a CUDA expert would say."""
    evidence: str
    kernel: str = ""
    line: int | None = None
    bound: float
    """Upper bound of the speedup if it is fixed (1.0: nothing to gain)."""
    strategies: tuple[str, ...] = ()


class Diagnosis(Record):
    """All findings, largest bound first, and the paper's class."""

    bottleneck: Bottleneck
    findings: tuple[Finding, ...]
    whereabouts: tuple[str, ...] = ()
    """Where the time of the profiled call goes, in words: the call, then its longest kernels."""
