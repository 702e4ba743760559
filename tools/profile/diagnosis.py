"""From counters to the one thing to fix: all findings of a call, ranked by what fixing each could gain at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.gpu_model import GpuModel
from ..records import Build, Diagnosis, Finding, Profile
from .filter import PAPER_THRESHOLD_PCT, classify
from .finding import Rule
from .findings import RULES, STALL_MIX
from .findings.near_floor import NearFloor
from .sass import SassMix, disassemble
from .subject import Subject
from .whereabouts import whereabouts

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
    return diagnose_subject(subject_of(profile, build, source, task, precision, case, gpu, sass), threshold_pct)


def diagnose_subject(subject: Subject, threshold_pct: float = PAPER_THRESHOLD_PCT) -> Diagnosis:
    """Diagnose a call of which everything is known that can be.

    Raises:
        MissingMetrics: the profile has no throughputs to classify by.
    """
    bottleneck = classify(subject.profile, threshold_pct)
    found = [(rule, finding) for rule in RULES for finding in _worth_saying(rule, rule.find(subject), subject)]
    explained = {(finding.kernel, stall) for rule, finding in found for stall in rule.stalls}
    unexplained = STALL_MIX.find_unexplained(subject, explained)
    found += [(STALL_MIX, finding) for finding in _worth_saying(STALL_MIX, unexplained, subject)]
    # Sorting is stable: between equal bounds the order of the rules decides.
    ranked = sorted((finding for _, finding in found), key=lambda finding: -finding.bound)
    return Diagnosis(bottleneck=bottleneck, findings=tuple(ranked), whereabouts=whereabouts(subject))


def subject_of(
    profile: Profile,
    build: Build | None,
    source: str,
    task: Task,
    precision: Precision,
    case: Case,
    gpu: GpuModel,
    sass: Mapping[str, SassMix] | None = None,
) -> Subject:
    """Return what is known of one call, with the machine code if it can be disassembled."""
    if sass is None:
        code = build.device_code or (build.library if profile.device == "cuda" else "") if build and build.ok else ""
        sass = disassemble(code)
    return Subject(profile, task, precision, case, gpu, source, build, sass)


def _worth_saying(rule: Rule, findings: Iterable[Finding], subject: Subject) -> Iterable[Finding]:
    cap = subject.cap if rule.tensor_cores else subject.cap_without_tensor_cores
    for finding in findings:
        bound = round(max(1.0, min(finding.bound, cap)), 3)
        if bound >= WORTH_SAYING or isinstance(rule, NearFloor):
            yield finding.model_copy(update={"bound": bound})
