"""From counters to the one thing to fix: all findings of a call, ranked by what fixing each could gain at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.gpu_model import GpuModel
from ..records import Build, Diagnosis, Finding, Profile
from .filter import PAPER_THRESHOLD_PCT, classify
from .findings import RULES, STALL_MIX
from .findings.near_floor import NearFloor
from .sass import SassMix, disassemble
from .subject import Subject

WORTH_SAYING: Final = 1.05
"""Findings that could gain less are left out."""


def diagnose(
    profile: Profile,
    *,
    build: Build | None,
    source: str,
    task: Task,
    precision: Precision,
    case: Case,
    gpu: GpuModel,
    sass: Mapping[str, SassMix] | None = None,
    threshold_pct: float = PAPER_THRESHOLD_PCT,
) -> Diagnosis:
    """Diagnose one call.

    Args:
        profile: from the cuda or the cpu device; findings whose metrics are absent stay silent.
        build: its ptxas resources and, on the cuda device, its machine code are read; None if there is none.
        source: of the candidate, for locations and static facts.
        task: for the lower bounds of work.
        precision: of the unit.
        case: the one profiled.
        gpu: the GPU measured or modelled, calibrated if possible.
        sass: machine code by kernel; default: disassembled from the build where a disassembler is found.
        threshold_pct: of the paper's filter.

    Raises:
        MissingMetrics: the profile has no throughputs to classify by.
    """
    if sass is None:
        sass = disassemble(build.library) if build and build.ok and profile.device == "cuda" else {}
    subject = Subject(profile, task, precision, case, gpu, source, build, sass)
    bottleneck = classify(profile, threshold_pct)
    found = [(rank, finding) for rank, rule in enumerate(RULES) for finding in rule.find(subject)]
    worth = [(rank, _capped(f, subject.cap)) for rank, f in found]
    worth = [(rank, f) for rank, f in worth if f.bound >= WORTH_SAYING or f.name == NearFloor.name]
    explained = {(f.kernel, stall) for rank, f in worth for stall in RULES[rank].stalls}
    rest = [_capped(f, subject.cap) for f in STALL_MIX.find_unexplained(subject, explained)]
    worth += [(len(RULES), f) for f in rest if f.bound >= WORTH_SAYING]
    ranked = sorted(worth, key=lambda item: (-round(item[1].bound, 3), item[0]))
    return Diagnosis(bottleneck=bottleneck, findings=tuple(_first_per_place(f for _, f in ranked)))


def _capped(finding: Finding, cap: float) -> Finding:
    bound = round(max(1.0, min(finding.bound, cap)), 3)
    return finding.model_copy(update={"bound": bound})


def _first_per_place(findings: Iterable[Finding]) -> Iterable[Finding]:
    seen: set[tuple[str, str]] = set()
    for finding in findings:
        if (finding.name, finding.kernel) not in seen:
            seen.add((finding.name, finding.kernel))
            yield finding
