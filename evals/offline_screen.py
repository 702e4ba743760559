"""A screening of the offline model: all rules at once on every unit, checked and timed once each on a GPU.

`python -m cudamaster.evals.offline_screen DATA.jsonl [--workers N] [--seconds S] [TASK …]` appends a row for each unit
that DATA.jsonl has none of, so it goes on where it was stopped; a TASK is a benchmark task or a folder of one.

It is no suite: no rounds, no repairs, fewer cases, one pair of processes a unit and no intervals. It says in minutes
which units the rules reach and where they fall short.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task, task_names
from ..benchmark.scoring import geometric_mean
from ..benchmark.task import Case, CaseSet, Task
from ..models.offline.chain import apply_all
from ..models.offline.rule import Setting
from ..tools.device.cuda.device import CudaDevice, case_arrays
from ..tools.device.gpu_model import GpuModel
from ..tools.judge.verify import verify
from ..tools.profile.roofline import floor
from ..tools.records import Build, Candidate, Record, Status
from .lines import append_lines, read_lines

TIMED, CHECKED = 4, 8
"""Cases of a unit that are timed (paper set, spread over its sizes) and that are checked (small and hidden set)."""
LARGEST_BYTES = 160_000_000
"""Arrays of a timed case: larger ones take longer to make than to time."""
LONG_US = 20_000.0
"""A call as long as this is timed once."""


class ScreenedCase(Record):
    """One timed size: medians of cold calls, in microseconds."""

    case: str
    complexity: int
    baseline_us: float
    candidate_us: float
    floor_us: float


class Screened(Record):
    """What was seen of one unit."""

    unit: str
    rules: tuple[str, ...] = ()
    status: str
    """The judge's word on the candidate at the checked cases, or `failed` with the reason in `detail`."""
    detail: str = ""
    checked: int = 0
    cases: tuple[ScreenedCase, ...] = ()
    seconds: float = 0.0
    where: str = ""
    """GPU, driver, toolkit and day."""

    @property
    def speedup(self) -> float | None:
        """Geometric mean over the timed sizes; None if it is not right or was not timed."""
        if self.status != Status.PASS or not self.cases:
            return None
        return geometric_mean([c.baseline_us / c.candidate_us for c in self.cases])

    @property
    def efficiency(self) -> float | None:
        """Geometric mean of floor ÷ time over the timed sizes."""
        if self.status != Status.PASS or not self.cases:
            return None
        return geometric_mean([min(1.0, c.floor_us / c.candidate_us) for c in self.cases])


def screen_unit(task_name: str, precision: Precision) -> Screened:
    """Apply all rules to a unit's baseline, check the result and time both."""
    began = time.monotonic()
    task = load_task(task_name)
    unit = f"{task.name}-{precision}"
    device = CudaDevice()
    setting = Setting(device.gpu.multiprocessors, precision.value, on_gpu=True)
    source, rules = apply_all(task.source(precision), setting)
    baseline, candidate = (
        device.build(Candidate(source=text), task, precision) for text in (task.source(precision), source)
    )
    row = Screened(
        unit=unit, rules=rules, status=Status.BUILD_ERROR, detail=candidate.log[-500:], where=measured_on(device)
    )
    if candidate.ok:
        cases = _timed(task, precision)
        data = [(case, case_arrays(task, precision, case)) for case in cases]
        checked = _checked(device, task, precision)
        verdict = verify(candidate, task, precision, device, cases=checked)
        row = row.model_copy(update={"status": verdict.status, "detail": verdict.summary, "checked": len(checked)})
        if verdict.status is Status.PASS:
            before, after = (_times(device, build, task, precision, data) for build in (baseline, candidate))
            gpu = device.gpu.model_copy(update={"empty_launch_us": before.empty_us})
            row = row.model_copy(update={"cases": _compared(task, precision, cases, before, after, gpu)})
    return row.model_copy(update={"seconds": round(time.monotonic() - began, 1)})


def measured_on(device: CudaDevice) -> str:
    """Return GPU, driver, toolkit and day."""
    info = device.info()
    return f"{info.gpu}, driver {info.driver}, CUDA {info.toolkit}; {time.strftime('%Y-%m-%d', time.gmtime())}"


def _bytes(task: Task, precision: Precision, case: Case) -> int:
    return sum(task.contract.bytes_of(a, precision, case.sizes) for a in task.contract.arrays)


def _timed(task: Task, precision: Precision) -> list[Case]:
    """Return paper sizes (or what the task has) from the smallest to the largest that is not too large."""
    known = sorted(task.in_set(CaseSet.PAPER) or task.cases, key=lambda c: task.complexity(c.sizes))
    fitting = [c for c in known if _bytes(task, precision, c) <= LARGEST_BYTES] or known[:1]
    places = sorted({round(i * (len(fitting) - 1) / (TIMED - 1)) for i in range(TIMED)})
    return [fitting[place] for place in places]


def _checked(device: CudaDevice, task: Task, precision: Precision) -> list[Case]:
    small = [
        c for c in device.checked_cases(task) if c.set is not CaseSet.PAPER and _bytes(task, precision, c) < 5_000_000
    ]
    return small[:: max(1, len(small) // CHECKED)]


class _Times(NamedTuple):
    """What one process told, in microseconds."""

    empty_us: float
    """Median time of an empty launch."""
    cold_us: list[float]
    """Median time of a cold call at each case."""


def _times(
    device: CudaDevice, build: Build, task: Task, precision: Precision, data: Iterable[tuple[Case, object]]
) -> _Times:
    empty_us, found = 0.0, list[float]()
    with device.open(build, task, precision) as runner, runner.hold():
        for case, arrays in data:
            runner.load_case(case, arrays)  # type: ignore[arg-type]
            if not found:
                runner.time("empty", 100, 0)  # the clocks went down while data were made
                empty_us = median(_device_us(runner.time("empty", 100, 0)))
            samples = _device_us(runner.time("cold", 1, 0))
            if samples[0] < LONG_US:
                samples = _device_us(runner.time("cold", 3 if samples[0] > 2000 else 11, 0))
            found.append(median(samples))
    return _Times(empty_us, found)


def _device_us(timed: object) -> tuple[float, ...]:
    samples = getattr(timed, "device_us", None)
    if not samples:
        raise RuntimeError(f"a timed call failed: {timed}")
    return tuple(samples)


def _compared(
    task: Task, precision: Precision, cases: list[Case], before: _Times, after: _Times, gpu: GpuModel
) -> tuple[ScreenedCase, ...]:
    return tuple(
        ScreenedCase(
            case=case.name, complexity=task.complexity(case.sizes), baseline_us=b, candidate_us=a,
            floor_us=floor(task, precision, case, gpu).time_us,
        )
        for case, b, a in zip(cases, before.cold_us, after.cold_us, strict=True)
    )  # fmt: skip


def _work(unit: tuple[str, Precision]) -> Screened:
    try:
        return screen_unit(*unit)
    except Exception as fault:  # one unit's fault is its row, not the end of the others
        name = f"{Path(unit[0]).name}-{unit[1]}"
        return Screened(unit=name, status="failed", detail=f"{type(fault).__name__}: {fault}"[:500])


def read_screened(data: Path) -> dict[str, Screened]:
    """Return the rows of a data file by unit; the last of a unit counts."""
    return {row.unit: row for row in map(Screened.model_validate, read_lines(data))}


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--workers", type=int, default=6, help="units in work at once; the GPU does one at a time")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so long")
    args = parser.parse_intermixed_args()
    began = time.monotonic()
    done = {name for name, row in read_screened(args.data).items() if row.status != "failed"}
    units = [(name, precision) for precision in Precision for name in args.tasks or task_names()]
    left = [(name, precision) for name, precision in units if f"{Path(name).name}-{precision}" not in done]
    with get_context("spawn").Pool(args.workers) as pool:
        for row in pool.imap_unordered(_work, left):
            append_lines(args.data, [row])
            speedup, efficiency = row.speedup, row.efficiency
            gain = f"{speedup:8.2f}x  {efficiency:4.0%} of the floor" if speedup and efficiency else row.detail[:120]
            took = "  ".join(f"{c.baseline_us:.1f}>{c.candidate_us:.1f}" for c in row.cases)
            print(f"{time.monotonic() - began:5.0f} s  {row.unit:30} {row.status:8} {gain}  {took}", flush=True)
            if time.monotonic() - began > args.seconds:
                pool.terminate()
                break


if __name__ == "__main__":
    main()
