"""Is a build right? Every output of every case against the truth, with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...benchmark.contract import Precision
from ...benchmark.task import Case, CaseSet, Task
from ..device.port import Device, DeviceUnavailable, Runner, Unsupported
from ..phases import phase
from ..records import Build, CaseEvidence, Status, Verdict
from .build_gate import build_verdict
from .check_case import CallsMade, make_calls
from .reference import make_ready
from .seeds import derive, fresh_seed, pool_seed
from .source_gates import source_verdict
from .stages import Stage, costly, stages
from .task_files import with_unchanged_files

_ENOUGH = 6
"""After so many failing cases a stage ends: they say what there is to say."""


def verify(
    build: Build,
    task: Task,
    precision: Precision,
    device: Device,
    *,
    cases: Sequence[Case] | None = None,
    seed: int | None = None,
    source: str = "",
    baseline_source: str = "",
) -> Verdict:
    """Run a build at the cases (default: those that the device can afford) and compare every output with the truth.

    Data are drawn after the library is loaded, from `seed` or from a fresh one. With `source` the text is screened
    first, and with `baseline_source` compared with that. A later stage doesn't run if an earlier one fails.

    Raises:
        DeviceUnavailable: the device is not to be had on this machine.
    """
    verdict = (source_verdict(source, task.contract, baseline_source) if source else None) or build_verdict(
        build, task.contract
    )
    if verdict is None:
        task.sha256  # noqa: B018 - the hash of its files as they are now
        with phase("verify"):
            verdict = _run(build, task, precision, device, device.checked_cases(task) if cases is None else cases, seed)
        verdict = with_unchanged_files(verdict, task)
    return verdict.model_copy(update={"checked_with_nvcc": build.checked_with_nvcc, "device": device.name})


def _run(
    build: Build, task: Task, precision: Precision, device: Device, cases: Sequence[Case], seed: int | None
) -> Verdict:
    evidence: list[CaseEvidence] = []
    notes: tuple[str, ...] = ()
    try:
        with device.open(build, task, precision) as runner:
            isolation = getattr(runner, "isolation", None)
            notes = (str(isolation),) if isolation is not None and isolation.missing else ()
            for stage in stages(task, cases):
                failures = _check_stage(runner, task, precision, stage, seed, evidence)
                if failures:
                    return _failure(failures[-1], evidence)
    except DeviceUnavailable:
        raise
    except Unsupported as error:
        return Verdict(status=Status.UNSUPPORTED, summary=str(error), cases=tuple(evidence))
    except (OSError, RuntimeError, MemoryError) as error:
        return Verdict(status=Status.INFRA_ERROR, summary=f"{type(error).__name__}: {error}", cases=tuple(evidence))
    if not evidence:
        return Verdict(status=Status.INFRA_ERROR, summary="no case was checked: the device can afford none of them")
    worst = max(e.worst_ratio for e in evidence)
    summary = f"right at {len(evidence)} cases; the largest error is {worst:.2g} of its bound"
    if task.differential:
        summary = (
            f"as the original kernel at {len(evidence)} cases, within a widened bound; the largest difference is "
            f"{worst:.2g} of it"
        )
    return Verdict(status=Status.PASS, summary=summary, cases=tuple(evidence), notes=notes)


def _check_stage(
    runner: Runner, task: Task, precision: Precision, stage: Stage, seed: int | None, evidence: list[CaseEvidence]
) -> list[Status]:
    """Check the cases of a stage, add to the evidence and return how those that are not right failed.

    Data and answers are made before the device is held: others may use it meanwhile. What a case left behind is
    compared while the next one is called.
    """
    seeds = [_seeds(task, case, seed) for case, _ in stage]
    keeps = [seed is None and costly(task, case) for case, _ in stage]
    wanted = [
        (case, of_case[data], keep)
        for (case, steps), of_case, keep in zip(stage, seeds, keeps, strict=True)
        for data in sorted({step.data for step in steps})
    ]
    make_ready(task, precision, wanted)
    failures: list[Status] = []

    def enough(made: CallsMade) -> bool:
        outcome = made.outcome()
        evidence.append(outcome.evidence)
        if outcome.status is not Status.PASS:
            failures.append(outcome.status)
        return outcome.status not in (Status.PASS, Status.WRONG) or len(failures) == _ENOUGH

    with ThreadPoolExecutor(1) as beside:
        before: CallsMade | None = None
        with runner.hold():
            for (case, steps), of_case, keep in zip(stage, seeds, keeps, strict=True):
                made = make_calls(runner, task, precision, case, of_case, steps, beside=beside, keep=keep)
                if before and enough(before):
                    return failures
                before = made
        if before:
            enough(before)
    return failures


def _seeds(task: Task, case: Case, seed: int | None) -> tuple[int, int]:
    """Return the seeds of a case's two data sets: derived from `seed`, or chosen now, when the library is loaded."""
    if seed is None:
        seed = pool_seed() if costly(task, case) else fresh_seed()
    return derive(seed, case.set, case.name, 0), derive(seed, case.set, case.name, 1)


def _failure(status: Status, evidence: list[CaseEvidence]) -> Verdict:
    """Return the verdict on failing cases. Summary and detail keep the sizes of hidden cases hidden."""
    bad = [e for e in evidence if not e.ok]
    lines = [f"{_title(e)}: {e.reason}" for e in bad]
    good = [_title(e) for e in evidence if e.ok and e.set != CaseSet.HIDDEN]
    if good:
        lines.append(f"Right at: {'; '.join(good)}")
    return Verdict(status=status, summary=f"{status}: {lines[0]}", detail="\n".join(lines), cases=tuple(evidence))


def _title(evidence: CaseEvidence) -> str:
    return "a hidden case" if evidence.set == CaseSet.HIDDEN else f"case {evidence.case}"
