"""The benchmark's baselines on a GPU, and the libraries beside them: right, how fast, and what each wastes.

`python -m cudamaster.evals.baselines DATA.jsonl [TASK …]` measures what DATA lacks and adds to it as it goes, so that
it may be killed and started again; `--pages FOLDER` writes the pages from DATA.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..benchmark.contract import Precision
from ..benchmark.library.cub import CUB
from ..benchmark.library.registry import arms
from ..benchmark.registry import load_task, task_names
from ..benchmark.task import Case, CaseSet, Task
from ..graph.executor import Call, Died
from ..graph.pool import Pool, cores
from ..tools.device.gpu_model import CALIBRATED_FIELDS, gpu_model
from ..tools.device.select import get_device
from ..tools.records import Record
from .baseline_records import Failed, ProfiledBaseline, Session, TimedCase, read_measured
from .lines import append_lines
from .measure_baseline import diagnosed_anew, profile_baseline, time_baseline, time_libraries

_TOGETHER_BYTES: Final = 1 << 30
"""Cases of a unit go into one piece of work up to this size of all their arrays."""
_DEAR_OPERATIONS: Final = 1e10
WHAT: Final = ("baseline", "profile", "library")


class Work(NamedTuple):
    """A piece of work in a process of its own."""

    unit: str
    what: str
    function: Callable[..., list[Record]]
    arguments: tuple[object, ...]
    dear: bool = False


def this_session(name: str) -> Session:
    """Say where and when this is.

    Raises:
        DeviceUnavailable: this machine lacks the device.
    """
    device = get_device(name)
    gpu = getattr(device, "gpu", None) or gpu_model(device.info().gpu)
    rates = {name: getattr(gpu, name) for name in CALIBRATED_FIELDS}
    return Session(device=device.info(), date=time.strftime("%Y-%m-%d"), rates=rates)


def measure(path: Path, work: Sequence[Work], jobs: int, limit_s: float) -> None:
    """Do the work in `jobs` processes and add to the file what each piece finds; after `limit_s` none is begun."""
    start, pool = time.monotonic(), Pool(jobs)
    timer = threading.Timer(limit_s, pool.stop)
    timer.daemon = True
    timer.start()
    for place, outcome in pool.run([Call(piece.function, piece.arguments) for piece in work]):
        piece = work[place]
        if isinstance(outcome, Died):
            outcome = [Failed(unit=piece.unit, what=piece.what, reason=outcome.why)]
        append_lines(path, outcome)
        bad = [r for r in outcome if isinstance(r, Failed) or (isinstance(r, TimedCase) and r.status != "pass")]
        print(f"{time.monotonic() - start:.0f} s: {piece.unit} {piece.what}: {len(outcome)} results", flush=True)
        for record in bad:
            print(f"    {record.model_dump_json(exclude_defaults=True)[:400]}", flush=True)
    timer.cancel()


def missing(
    known: Iterable[Record], tasks: Sequence[str], what: Sequence[str], sets: Sequence[CaseSet], device: str
) -> Iterator[Work]:
    """Yield the work left to do: a set after the other, profiles after the first, so that a kill leaves whole parts."""
    cases = {(r.unit, r.arm, r.set, r.case) for r in known if isinstance(r, TimedCase) and r.settled}
    profiled = {r.unit for r in known if isinstance(r, ProfiledBaseline)}
    units = [(load_task(name), precision) for name in tasks for precision in Precision]
    for number, set_ in enumerate(sets):
        for task, precision in units if "baseline" in what else ():
            unit = f"{task.name}-{precision}"
            left = [c for c in task.in_set(set_) if (unit, "", set_, c.name) not in cases]
            for part in _parts(task, precision, left):
                yield Work(unit, set_.value, time_baseline, (task.name, precision.value, set_, part), _dear(task, part))
        for task, precision in units if "profile" in what and number == 0 else ():
            unit = f"{task.name}-{precision}"
            if unit not in profiled:
                yield Work(unit, "profile", profile_baseline, (task.name, precision.value, device))
        for task, precision in units if "library" in what else ():
            unit, names = f"{task.name}-{precision}", library_names(task.name, precision)
            left = [c for c in task.in_set(set_) if any((unit, name, set_, c.name) not in cases for name in names)]
            for part in _parts(task, precision, left):
                arguments = (task.name, precision.value, set_, part)
                yield Work(unit, f"library {set_.value}", time_libraries, arguments, _dear(task, part))


def library_names(task: str, precision: Precision) -> list[str]:
    """Return the names of a unit's library arms."""
    return [arm.name for arm in arms(task, precision)] + ([CUB[task]] if task in CUB else [])


def _dear(task: Task, names: Sequence[str]) -> bool:
    """Say whether the answer of one of these cases is computed whole, and long."""
    most = max(task.complexity(case.sizes) for case in task.cases if case.name in names)
    return task.sample is None and most > _DEAR_OPERATIONS


def _parts(task: Task, precision: Precision, cases: Sequence[Case]) -> Iterator[tuple[str, ...]]:
    """Split cases, the largest first, so that none keeps a process busy for long."""
    part: list[str] = []
    held = 0
    sizes = {c.name: sum(task.contract.bytes_of(a, precision, c.sizes) for a in task.contract.arrays) for c in cases}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if part and held + sizes[name] > _TOGETHER_BYTES:
            yield tuple(part)
            part, held = [], 0
        part.append(name)
        held += sizes[name]
    if part:
        yield tuple(part)


def write_pages(measured: Sequence[Record], folder: Path) -> None:
    """Write `baselines_<gpu>.md` and `diagnosis_<gpu>.md` into a folder.

    Raises:
        ValueError: the data lack the session, cases or profiles.
    """
    from .baselines_page import baselines_page
    from .diagnosis_page import diagnosis_page

    session = _session(measured)
    profiled = [r for r in measured if isinstance(r, ProfiledBaseline)]
    timed = [r for r in measured if isinstance(r, TimedCase)]
    gpu = session.device.gpu.split()[-1].lower()
    folder.mkdir(parents=True, exist_ok=True)
    if timed:
        classes = {p.unit: p.diagnosis.bottleneck.value for p in profiled}
        (folder / f"baselines_{gpu}.md").write_text(baselines_page(session, timed, classes))
    (folder / f"diagnosis_{gpu}.md").write_text(diagnosis_page(profiled))


def _session(measured: Sequence[Record]) -> Session:
    for record in measured:
        if isinstance(record, Session):
            return record
    raise ValueError("the data do not say where they were measured")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the data file lacks, or diagnose its profiles anew, or write the pages."""
    parser = argparse.ArgumentParser(prog="python -m cudamaster.evals.baselines", description=main.__doc__)
    parser.add_argument("data", type=Path, help="file of what was measured, a JSON record a line; extended")
    parser.add_argument("tasks", nargs="*", help="tasks to measure; default: all")
    parser.add_argument("--what", nargs="+", choices=WHAT, default=list(WHAT))
    parser.add_argument("--sets", nargs="+", type=CaseSet, default=[CaseSet.PAPER, CaseSet.LARGE])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: profiles alone")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes; default: cores")
    parser.add_argument("--limit-s", type=float, default=86_400.0, help="begin nothing after so many seconds")
    parser.add_argument("--pages", type=Path, help="measure nothing: write the pages into this folder")
    parser.add_argument("--diagnose", action="store_true", help="measure nothing: diagnose the profiles anew")
    options = parser.parse_intermixed_args(arguments)
    if options.diagnose:
        measured = read_measured(options.data)
        gpu = _session(measured).gpu
        profiled = [diagnosed_anew(r, gpu) for r in measured if isinstance(r, ProfiledBaseline)]
        append_lines(options.data, profiled)
        return
    if options.pages:
        write_pages(read_measured(options.data), options.pages)
        return
    what = ["profile"] if options.device == "cpu" else options.what
    tasks = options.tasks or task_names()
    work = missing(read_measured(options.data), tasks, what, options.sets, options.device)
    append_lines(options.data, [this_session(options.device)])
    # The answers of some cases take minutes on a core: they begin first, while others have the GPU.
    measure(options.data, sorted(work, key=lambda piece: not piece.dear), options.jobs, options.limit_s)


if __name__ == "__main__":
    main()
