"""What only winners get: repeated calls, sizes in no list, a clock out of the candidate's reach, a look at its code."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from random import Random
from typing import Final

from ...benchmark.contract import Precision
from ...benchmark.task import CaseSet, Task
from ..device.port import CallFailed, Device, Unsupported
from ..records import Build, EstimatedSpeedup, Speedup, Status, Verdict
from .check_case import Step, judge_call
from .machine_code import narrow_instructions
from .poison import PATTERNS
from .reference import instance
from .seeds import derive, fresh_seed
from .stages import costly
from .unlisted import least_expected, tuned_to_sizes, unlisted_cases
from .verify import verify

_SLOWER_UNDER_A_PROFILER: Final = 2.0
"""ncu runs a kernel at the base clock and alone: its time may be so many times the claimed one, not more."""
_CLAIM_OFFSET_US: Final = 5.0
_REPEATS: Final = 10


def second_look(
    verdict: Verdict,
    gain: Speedup | EstimatedSpeedup | None,
    build: Build,
    baseline: Build,
    task: Task,
    precision: Precision,
    device: Device,
) -> Verdict:
    """Return the verdict on a winner, with notes on what was looked at besides, or another one if a look found a fault.

    Raises:
        DeviceUnavailable: the device is not to be had on this machine.
    """
    if not verdict.passed or gain is None:
        return verdict
    fault, note = _repeated(build, task, precision, device)
    if fault is not None:
        return fault.model_copy(update={"cases": (*verdict.cases, *fault.cases)})
    verdict, elsewhere = _at_sizes_in_no_list(verdict, gain, build, baseline, task, precision, device)
    notes = [note, *elsewhere]
    if verdict.passed and isinstance(gain, Speedup):
        suspicion, note = _beside_the_profiler(gain, build, task, precision, device)
        if suspicion:
            return verdict.model_copy(update={"status": Status.SUSPECT, "summary": suspicion})
        notes.append(note)
    if precision is Precision.FP32 and (narrow := narrow_instructions(build)):
        notes.append(f"half-precision or tensor instructions in FP32, within the error bounds: {'; '.join(narrow)}")
    return verdict.model_copy(update={"notes": (*verdict.notes, *notes)})


def _at_sizes_in_no_list(
    verdict: Verdict,
    gain: Speedup | EstimatedSpeedup,
    build: Build,
    baseline: Build,
    task: Task,
    precision: Precision,
    device: Device,
) -> tuple[Verdict, Sequence[str]]:
    """Check a winner at sizes between the timed ones, and time it there where the device has a clock."""
    # Of a kernel without a definition nobody knows which other sizes are legal.
    timed = () if task.differential else device.timed_cases(task)
    unlisted = unlisted_cases(task, timed, Random(secrets.randbits(64)))
    cases = tuple(one.case for one in unlisted)
    if not cases:
        return verdict, ()
    again = verify(build, task, precision, device, cases=cases, seed=fresh_seed())
    seen = (*verdict.cases, *again.cases)
    if again.status is not Status.PASS:
        return again.model_copy(update={"cases": seen}), ()
    verdict = verdict.model_copy(update={"cases": seen})
    if not isinstance(gain, Speedup):
        return verdict, ()
    try:
        there = device.compare(baseline, build, task, precision, cases, to_beat=least_expected(unlisted, gain))
    except (CallFailed, Unsupported) as reason:
        return verdict, (f"not timed at sizes in no list: {reason}",)
    if suspicions := [note for note in getattr(there, "notes", ()) if note.startswith("suspect:")]:
        return verdict.model_copy(update={"status": Status.SUSPECT, "summary": suspicions[0]}), ()
    enough = [f"sizes in no list gain as much: {one.ratio.value:.3g}x at {one.case}" for one in there.cases]
    return verdict, tuned_to_sizes(unlisted, there, gain) or enough


def _beside_the_profiler(
    gain: Speedup, build: Build, task: Task, precision: Precision, device: Device
) -> tuple[str, str]:
    """Compare one claimed time with Nsight Compute's: a suspicion or nothing, and a note."""
    claim = max(gain.cases, key=lambda one: one.complexity)
    case = next(case for case in device.timed_cases(task) if case.name == claim.case)
    try:
        launches = device.profile(build, task, precision, case).launches
        counted_us = sum(launch.metrics["duration_us"].value for launch in launches)
    except (CallFailed, Unsupported, KeyError) as fault:
        return "", f"no time was compared with a profiler's: {fault}"
    said = f"{claim.candidate_us:.1f} us per call, Nsight Compute counts {counted_us:.1f} us, at {case.name}"
    if counted_us > _SLOWER_UNDER_A_PROFILER * claim.candidate_us + _CLAIM_OFFSET_US:
        return f"suspect: claims {said}", ""
    return "", f"times agree with a profiler's: {said}"


def _repeated(build: Build, task: Task, precision: Precision, device: Device) -> tuple[Verdict | None, str]:
    """Make the same call many times; a verdict if one is wrong, and whether all gave the same bits."""
    cases = device.checked_cases(task)
    affordable = [case for case in cases if not costly(task, case)]
    case = max(affordable or cases[:1], key=lambda one: (one.set is CaseSet.HIDDEN, task.complexity(one.sizes)))
    seed = derive(fresh_seed(), case.set, case.name)
    data = instance(task, case, precision, seed)
    answers = set()
    with device.open(build, task, precision) as runner, runner.hold():
        runner.load_case(case, data.memory)
        for count in range(_REPEATS):
            step = Step(0, False, PATTERNS[count % 2], f"call {count + 1} of the same kind")
            result = runner.call(step.pattern, data.positions)
            status, evidence = judge_call(result, data, task, precision, case, seed, step)
            if status is not Status.PASS:
                reason = f"{status}: called {_REPEATS} times with the same data, {evidence.reason}"
                return Verdict(status=status, summary=reason, cases=(evidence,), device=device.name), ""
            answers.add(b"".join(output.tobytes() for output in result.outputs.values()))
    if len(answers) == 1:
        return None, f"{_REPEATS} calls with the same data gave the same bits"
    return None, f"{_REPEATS} calls with the same data gave {len(answers)} answers, all within the error bounds"
