"""How long the judge takes on this GPU, and how well it repeats: measured, recorded, and written as a page.

`python -m cudamaster.evals.judge_measured DATA.jsonl PAGE.md [--candidates DIR] [--tasks NAME …]` measures what
DATA.jsonl lacks and writes PAGE.md from DATA.jsonl alone. DIR holds a source UNIT.cu for each unit that is to be
evaluated as a typical candidate is; the baselines are always timed against themselves. Without a GPU it only writes the
page.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task
from ..benchmark.task import Task
from ..tools.device.port import Device, DeviceInfo, DeviceUnavailable, Unsupported
from ..tools.device.select import get_device
from ..tools.judge.judge import judge
from ..tools.ncu import profiled_case
from ..tools.phases import recorded_phases
from ..tools.records import Build, Candidate, Interval, Record, Speedup, Status
from .lines import append_lines, read_lines

TASKS: Final = ("dot_product", "gelu", "softmax", "matrix_mul", "spmv_csr", "stencil_2d")
TIMES: Final = 10
"""So often one candidate is judged."""
REPEATED: Final = ("dot_product", Precision.FP32)


class Where(Record):
    """The machine, and the day."""

    kind: Literal["where"] = "where"
    device: DeviceInfo
    date: str


class Evaluation(Record):
    """One full evaluation of a candidate, built anew: build, verify, time the timed cases; then its profile."""

    kind: Literal["evaluation"] = "evaluation"
    unit: str
    status: Status
    seconds: float
    phases: dict[str, float]
    """Seconds by phase: `build`, `data` (inputs and answers, in several threads), `verify`, `time`; parts by path."""
    speedup: Interval | None = None
    profile_seconds: float | None = None


class AgainstItself(Record):
    """A baseline timed against itself."""

    kind: Literal["against_itself"] = "against_itself"
    unit: str
    ratio: Interval
    seconds: float
    notes: tuple[str, ...] = ()


class Again(Record):
    """The same candidate judged once more."""

    kind: Literal["again"] = "again"
    unit: str
    status: Status
    speedup: Interval | None
    seconds: float


Row = Where | Evaluation | AgainstItself | Again
_ROW: TypeAdapter[Row] = TypeAdapter(Annotated[Row, Field(discriminator="kind")])


def read_rows(data: Path) -> list[Row]:
    """Return what was measured so far; a line that was cut off is none."""
    return [_ROW.validate_python(line) for line in read_lines(data)]


def measure(device: Device, candidates: Path | None, tasks: Sequence[str], data: Path) -> None:
    """Measure what the file lacks and add it, a line as soon as it is known: evaluations first, repetitions last."""
    rows = read_rows(data)

    def put(row: Row) -> None:
        rows.append(row)
        append_lines(data, [row])

    if not any(isinstance(row, Where) for row in rows):
        put(Where(device=device.info(), date=time.strftime("%Y-%m-%d", time.gmtime())))
    done = {(row.kind, row.unit) for row in rows if not isinstance(row, Where)}
    units = [(load_task(name), precision) for name in tasks for precision in Precision]
    sources = {f.stem: f.read_text() for f in sorted(candidates.glob("*.cu"))} if candidates else {}
    for task, precision in units:
        source = sources.get(unit := f"{task.name}-{precision}")
        if source and ("evaluation", unit) not in done:
            put(_evaluated(device, task, precision, source, _baseline(device, task, precision)))
    for task, precision in units:
        if ("against_itself", f"{task.name}-{precision}") not in done:
            put(_against_itself(device, task, precision, _baseline(device, task, precision)))
    for task, precision in units:
        source = sources.get(f"{task.name}-{precision}")
        if source and (task.name, precision) == REPEATED:
            for _ in range(TIMES - sum(isinstance(row, Again) for row in rows)):
                put(_again(device, task, precision, source, _baseline(device, task, precision)))


def _baseline(device: Device, task: Task, precision: Precision) -> Build:
    return device.build(Candidate(source=task.source(precision)), task, precision)


def _evaluated(device: Device, task: Task, precision: Precision, source: str, baseline: Build) -> Evaluation:
    """Evaluate a candidate that was never built before, and profile it."""
    fresh = f"{source}\n// {time.time_ns()}\n"
    start = time.monotonic()
    with recorded_phases() as phases:
        judged = judge(Candidate(source=fresh), task, precision, device, baseline=baseline)
    seconds, profile_seconds = time.monotonic() - start, None
    if judged.verdict.passed:
        start = time.monotonic()
        try:
            device.profile(judged.build, task, precision, profiled_case(task, device))
            profile_seconds = time.monotonic() - start
        except Unsupported:
            pass  # no counters here
    return Evaluation(
        unit=f"{task.name}-{precision}", status=judged.verdict.status, seconds=seconds, phases=dict(phases),
        speedup=judged.gain.geomean if isinstance(judged.gain, Speedup) else None, profile_seconds=profile_seconds,
    )  # fmt: skip


def _against_itself(device: Device, task: Task, precision: Precision, baseline: Build) -> AgainstItself:
    start = time.monotonic()
    found = device.compare(baseline, baseline, task, precision, device.timed_cases(task))
    assert isinstance(found, Speedup)  # only the cuda device comes here
    seconds = time.monotonic() - start
    return AgainstItself(unit=f"{task.name}-{precision}", ratio=found.geomean, seconds=seconds, notes=found.notes)


def _again(device: Device, task: Task, precision: Precision, source: str, baseline: Build) -> Again:
    start = time.monotonic()
    judged = judge(Candidate(source=source), task, precision, device, baseline=baseline)
    speedup = judged.gain.geomean if isinstance(judged.gain, Speedup) else None
    seconds = time.monotonic() - start
    return Again(unit=f"{task.name}-{precision}", status=judged.verdict.status, speedup=speedup, seconds=seconds)


def page(rows: Sequence[Row]) -> str:
    """Return the page in Markdown."""
    where = next(row for row in rows if isinstance(row, Where))
    device = where.device
    evaluations = [row for row in rows if isinstance(row, Evaluation)]
    pairs = [row for row in rows if isinstance(row, AgainstItself)]
    again = [row for row in rows if isinstance(row, Again)]
    lines = [
        "# What the judge costs, and how well it repeats",
        "",
        f"{device.gpu}, driver {device.driver}, CUDA {device.toolkit}; {where.date}. Generated by",
        "`python -m cudamaster.evals.judge_measured` from the recorded measurements.",
        "",
    ]
    return "\n".join([*lines, *_costs(evaluations), *_pairs(pairs), *_repeats(again)])


def _costs(rows: Sequence[Evaluation]) -> Iterable[str]:
    if not rows:
        return
    yield from ("## One full evaluation", "")
    yield f"Build, verify and time a typical candidate: median {median(r.seconds for r in rows):.1f} s over {len(rows)}"
    profiles = [r.profile_seconds for r in rows if r.profile_seconds is not None]
    if profiles:
        yield f"units; its profile {median(profiles):.1f} s more (at most {max(profiles):.1f} s)."
    yield from ("", "| unit | verdict | speedup | all, s | build | verify | data of both | time | profile |")
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        data = sum(s for name, s in row.phases.items() if name == "data" or name == "verify/data")
        parts = [f"{row.phases.get(name, 0.0):.1f}" for name in ("build", "verify")]
        parts += [f"{data:.1f}", f"{row.phases.get('time', 0.0):.1f}"]
        parts += ["" if row.profile_seconds is None else f"{row.profile_seconds:.1f}"]
        speedup = f"{row.speedup.value:.3g}x" if row.speedup else ""
        yield f"| {row.unit} | {row.status} | {speedup} | {row.seconds:.1f} | {' | '.join(parts)} |"
    yield ""


def _pairs(rows: Sequence[AgainstItself]) -> Iterable[str]:
    if not rows:
        return
    covered = [row for row in rows if row.ratio.low <= 1 <= row.ratio.high]
    yield from ("## Baselines against themselves", "")
    yield f"The interval covers 1 for {len(covered)} of {len(rows)}; the largest ratio is"
    yield f"{max(row.ratio.value for row in rows):.4f}, the smallest {min(row.ratio.value for row in rows):.4f}."
    yield from ("", "| unit | ratio | 95 % interval | seconds |", "| --- | --- | --- | --- |")
    for row in rows:
        ratio = row.ratio
        yield f"| {row.unit} | {ratio.value:.4f} | {ratio.low:.4f} to {ratio.high:.4f} | {row.seconds:.1f} |"
    yield ""


def _repeats(rows: Sequence[Again]) -> Iterable[str]:
    if not rows:
        return
    values = [row.speedup.value for row in rows if row.speedup]
    spread = f"{100 * (max(values) / min(values) - 1):.2f} %" if values else "unknown"
    yield from ("## The same candidate again", "")
    yield f"{rows[0].unit}, judged {len(rows)} times: verdicts {', '.join(sorted({row.status for row in rows}))}; the"
    yield f"speedups lie within {spread} of each other."
    yield from ("", "| speedup | 95 % interval | seconds |", "| --- | --- | --- |")
    for row in rows:
        found = row.speedup
        yield f"| {found.value:.3f} | {found.low:.3f} to {found.high:.3f} | {row.seconds:.1f} |" if found else "| | | |"
    yield ""


def main(arguments: Sequence[str] | None = None, find: Callable[[str], Device] = get_device) -> None:
    """Measure and write, as the module's description says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--candidates", type=Path)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    given = parser.parse_args(arguments)
    try:
        measure(find("cuda"), given.candidates, given.tasks, given.data)
    except DeviceUnavailable as error:
        print(f"nothing measured: {error}")
    given.page.write_text(page(read_rows(given.data)))


if __name__ == "__main__":
    main()
