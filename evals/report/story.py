"""What happened in a unit's run: every round's diagnosis, plan, changes to the source, verdict and time."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from ...benchmark.contract import Precision
from ...benchmark.registry import UnknownTask, load_task
from ...benchmark.task import Case, Task
from ...graph.errors import RunError
from ...graph.story import read_state, read_trace
from ...models.journal import Journal
from ...models.parse import Unreadable, parse_repair, parse_source
from ...nodes.context import Context
from ...nodes.state import State, Version
from ...prompts.brief import Attempt, Plan, plans_by_round
from ...tools.profile.totals import total
from ...tools.records import CaseGain, Diagnosis, Finding, Profile, Record, Verdict, read_gain
from ...tools.result.build_files import build_script
from ...tools.store import MissingArtifact
from ..suite import UnitResult


class Turn(Record):
    """One candidate of a round."""

    attempt: int
    status: str
    gain: float | None = None
    """Speedup over the baseline, measured or estimated as the device says."""
    note: str = ""
    diff: str = ""
    """Unified, against the best kernel (a first version) or the version before (a repair); empty if not known."""
    tokens: int = 0


class Round(Record):
    """One round: what was diagnosed, planned and tried."""

    number: int
    strategy: str
    reasoning: str = ""
    expected_effect: str = ""
    bottleneck: str = ""
    """Class of the kernel that the round began with."""
    findings: tuple[Finding, ...] = ()
    turns: tuple[Turn, ...] = ()
    seconds: float = 0.0


class RoofPoint(Record):
    """One kernel at its profiled case, for the roofline."""

    case: str
    flops: float
    """Fewest operations that the task takes; 0 where nothing is proven."""
    bytes: float
    """Through device memory, as profiled."""
    time_us: float
    modelled: bool = False
    """Bytes are modelled, not counted by the GPU."""


class Story(Record):
    """A unit's run, in full."""

    unit: str
    run: str
    rounds: tuple[Round, ...]
    seconds: Mapping[str, float] = {}
    """By node, over the whole run."""
    baseline: str = ""
    """Source."""
    kernel: str = ""
    """Source of the winner; empty if nothing won."""
    build_command: str = ""
    evidence: str = ""
    """What was verified, in Markdown."""
    checked: Mapping[str, int] = {}
    """Cases passed by the winner, by set."""
    worst_ratio: float | None = None
    """Largest error ÷ bound over all elements and cases that have a bound."""
    roof_before: RoofPoint | None = None
    roof_after: RoofPoint | None = None

    def best_after(self, number: int) -> float:
        """Return the best gain up to a round; 1 before the first."""
        turns = [turn for item in self.rounds if item.number <= number for turn in item.turns]
        return max([1.0, *(turn.gain for turn in turns if turn.status == "pass" and turn.gain)])


def read_story(result: UnitResult, home: Path | None = None) -> Story | None:
    """Return the story of a unit's run; None if the run left nothing that can be read."""
    try:
        manifest, context, state = read_state(result.run, home)
        task = load_task(manifest.task)
        if not state.get("baseline"):
            return None
        return _story(result, context, state, task, manifest.precision)
    except (RunError, UnknownTask, MissingArtifact):
        return None


def _story(result: UnitResult, context: Context, state: State, task: Task, precision: Precision) -> Story:
    baseline = Version.model_validate(state["baseline"])
    winners = [Version.model_validate(item) for item in state.get("winners", [])]
    best = result.summary.best if result.summary else None
    chosen = [w for w in winners if best and (w.round, w.attempt) == (best.round, best.attempt)]
    winner = chosen[0] if chosen else None
    trace = [step for step in read_trace(context.folder) if step["event"] == "end"]
    seconds: Counter[str] = Counter()
    for step in trace:
        seconds[step["node"]] += step["seconds"]
    gains = _gains(winner, context)
    arch = state.get("hardware", {}).get("arch", "")
    verdict = Verdict.model_validate(context.store.get_json(winner.verdict)) if winner and winner.verdict else None
    ratios = [case.worst_ratio for case in verdict.cases if case.worst_ratio] if verdict else []
    evidence = context.folder / "result" / "VERIFICATION.md"
    return Story(
        unit=result.unit.name,
        run=result.run,
        rounds=_rounds(state, [baseline, *winners], context, task, trace),
        seconds={node: round(value, 3) for node, value in seconds.items()},
        baseline=context.store.text(baseline.source),
        kernel=context.store.text(winner.source) if winner else "",
        build_command=_command(build_script(winner.spec, arch, task.contract.entry)) if winner else "",
        evidence=evidence.read_text() if evidence.exists() else "",
        checked=dict(Counter(case.set for case in verdict.cases if case.ok)) if verdict else {},
        worst_ratio=max(ratios, default=None),
        roof_before=_roof(baseline, context, task, precision, {k: g.baseline_us for k, g in gains.items()}),
        roof_after=_roof(winner, context, task, precision, {k: g.candidate_us for k, g in gains.items()}),
    )


def _rounds(
    state: State, versions: list[Version], context: Context, task: Task, trace: list[dict[str, Any]]
) -> tuple[Round, ...]:
    history = [Attempt.model_validate(item) for item in state.get("history", [])]
    plans = [Plan.model_validate(context.store.get_json(name)) for name in state.get("plans", [])]
    planned = plans_by_round(history, plans)
    rounds = []
    for number, attempts in groupby(history, key=lambda attempt: attempt.round):
        tried = list(attempts)
        base = [version for version in versions if version.round < number][-1]
        plan = planned.get(number)
        diagnosis = Diagnosis.model_validate(context.store.get_json(base.diagnosis)) if base.diagnosis else None
        rounds.append(
            Round(
                number=number,
                strategy=tried[0].strategy,
                reasoning=plan.reasoning if plan else "",
                expected_effect=plan.expected_effect if plan else "",
                bottleneck=base.bottleneck,
                findings=diagnosis.findings[:3] if diagnosis else (),
                turns=_turns(tried, context.store.text(base.source), context.journal, task.contract.entry),
                seconds=round(sum(step["seconds"] for step in trace if step["round"] == number), 3),
            )
        )
    return tuple(rounds)


def _turns(tried: list[Attempt], source: str, journal: Journal, entry: str) -> tuple[Turn, ...]:
    turns = []
    for attempt in tried:
        written = _written(attempt, journal, entry)
        turns.append(
            Turn(
                attempt=attempt.attempt,
                status=attempt.status,
                gain=attempt.gain,
                note=attempt.note.removeprefix(f"{attempt.status}: "),
                diff=_diff(source, written) if written else "",
                tokens=attempt.input_tokens + attempt.output_tokens,
            )
        )
        source = written or source
    return tuple(turns)


def _written(attempt: Attempt, journal: Journal, entry: str) -> str:
    """Return the source that an attempt's agent wrote; empty if it wrote none, or options alone."""
    agent = "debugger" if attempt.attempt else "coder"
    for asks in (1, 0):
        reply = journal.reply(f"{attempt.round:03d}.{attempt.attempt:02d}.{agent}.{asks}")
        if reply is None:
            continue
        try:
            return parse_repair(reply.text, entry).source if attempt.attempt else parse_source(reply.text, entry)
        except Unreadable:
            continue
    return ""


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    return "\n".join(list(lines)[2:])


def _gains(winner: Version | None, context: Context) -> dict[str, CaseGain]:
    if winner is None or not winner.gain:
        return {}
    return {case.case: case for case in read_gain(context.store.get_json(winner.gain)).cases}


def _roof(
    version: Version | None, context: Context, task: Task, precision: Precision, times: dict[str, float]
) -> RoofPoint | None:
    if version is None or not version.profile:
        return None
    profile = Profile.model_validate(context.store.get_json(version.profile))
    case: Case | None = next((case for case in task.cases if case.name == profile.case), None)
    time = times.get(profile.case) or total(profile, "duration_us")
    if case is None or not time:
        return None
    moved = [total(profile, name) for name in ("dram_read_bytes", "dram_write_bytes")]
    known = [value for value in moved if value is not None]
    return RoofPoint(
        case=profile.case,
        flops=float(task.min_flops(case.sizes)),
        bytes=sum(known) if known else float(task.min_bytes(case.sizes, precision)),
        time_us=time,
        modelled=profile.device == "cpu" or not known,
    )


def _command(script: str) -> str:
    """Return the line of a build script that compiles the kernel."""
    line = next(line for line in script.splitlines() if line.startswith('"$NVCC"') and "kernel.cu" in line)
    arch = next(line for line in script.splitlines() if line.startswith("ARCH=")).partition(":-")[2].rstrip('}"')
    return line.replace('"$NVCC"', "nvcc").replace('"$ARCH"', arch)
