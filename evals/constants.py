"""What the constants that rules leave in a kernel are worth: every version of each unit, timed at each size on a GPU.

`python -m cudamaster.evals.constants DATA.jsonl [--page PAGE.md] [--jobs N] [TASK …]` appends a row for each unit that
has such constants and that DATA.jsonl has none of, then writes the page of all rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from langgraph.runtime import RunControl

from ..benchmark.contract import Precision
from ..benchmark.registry import load_task, task_names
from ..benchmark.scoring import geometric_mean
from ..graph.executor import Call, Died
from ..graph.pool import Pool
from ..models.offline.chain import apply_all
from ..models.offline.rule import Setting
from ..tools.device.cuda.device import CudaDevice
from ..tools.records import Candidate, Record
from ..tools.tunables import tunables, versions, with_values
from .lines import append_lines, read_lines
from .offline_screen import measured_on

CALLS = 24
"""Timed calls of each version at each size, in one process."""


class Constants(Record):
    """The times of all versions of one unit."""

    unit: str
    versions: tuple[dict[str, int], ...] = ()
    """Values of the constants; first the rules' own guess."""
    cases: tuple[str, ...] = ()
    times_us: tuple[tuple[float, ...] | None, ...] = ()
    """Median cold time by version and case, microseconds; None for a version that failed."""
    where: str = ""
    """GPU, driver, toolkit and day."""

    @property
    def shares(self) -> list[float | None]:
        """Each version's share of the time of the first, geometric mean over the sizes."""
        first = self.times_us[0] or ()
        return [
            geometric_mean([one / guess for one, guess in zip(times, first, strict=True)]) if times else None
            for times in self.times_us
        ]

    @property
    def by_size(self) -> float:
        """The share that would be left if the best version were taken at each size."""
        first = self.times_us[0] or ()
        able = [times for times in self.times_us if times]
        return geometric_mean([min(times[i] for times in able) / guess for i, guess in enumerate(first)])


def time_versions(task_name: str, precision: Precision, control: RunControl) -> Constants:
    """Apply all rules to a unit's baseline and time every version of what comes out; a row without versions: none."""
    del control  # one unit is soon done
    task, device = load_task(task_name), CudaDevice()
    setting = Setting(device.gpu.multiprocessors, precision.value, on_gpu=True)
    source, _ = apply_all(task.source(precision), setting)
    row = Constants(unit=f"{task.name}-{precision}", where=measured_on(device))
    if not (names := [one.name for one in tunables(source)]):
        return row
    tried = versions(source, names)
    builds = [device.build(Candidate(source=with_values(source, one)), task, precision) for one in tried]
    with device.sampling(builds, task, precision) as sample:
        times = sample(range(len(builds)), CALLS)
    return row.model_copy(
        update={
            "versions": tuple(tried),
            "cases": tuple(case.name for case in device.timed_cases(task)),
            "times_us": tuple(times.get(number) for number in range(len(builds))),
        }
    )


def page(rows: Sequence[Constants]) -> str:
    """Return the page of these rows."""
    searched = sorted((row for row in rows if row.versions and row.times_us[0]), key=lambda row: row.unit)
    lines = [
        "# Constants that rules leave",
        "",
        f"{'; '.join(sorted({row.where for row in searched}))}. Every value of each unit's constants, all rules "
        f"applied, {CALLS} cold calls at each size of the paper set, each version in one process: differences of 1 to "
        "2 % may be the process's. Shares of the time that the rules' own guess takes, geometric means over the sizes; "
        "`by size` is what would be left if the launcher took the best value at each size.",
        "",
        "Made by `python -m cudamaster.evals.constants` from the data beside it.",
        "",
        "| unit | constant | shares | best | by size |",
        "| --- | --- | --- | --- | --- |",
    ]
    best_of_all, by_size_of_all = [], []
    for row in searched:
        shares = [
            (" ".join(map(str, values.values())), share)
            for values, share in zip(row.versions, row.shares, strict=True)
            if share
        ]
        best = min(share for _, share in shares)
        best_of_all.append(best)
        by_size_of_all.append(row.by_size)
        told = ", ".join(f"{value}: {share:.3f}" for value, share in shares)
        lines.append(f"| {row.unit} | {', '.join(row.versions[0])} | {told} | {best:.3f} | {row.by_size:.3f} |")
    if searched:
        means = f"{geometric_mean(best_of_all):.3f} | {geometric_mean(by_size_of_all):.3f}"
        lines.append(f"| geometric mean of {len(searched)} | | | {means} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--jobs", type=int, default=12, help="units in work at once; a GPU does one at a time")
    args = parser.parse_intermixed_args()
    rows = [Constants.model_validate(line) for line in read_lines(args.data)]
    done = {row.unit for row in rows}
    units = [(name, precision) for name in args.tasks or task_names() for precision in Precision]
    left = [unit for unit in units if f"{Path(unit[0]).name}-{unit[1]}" not in done]
    if left:
        pool = Pool(args.jobs, CudaDevice().environments())
        for place, row in pool.run([Call(time_versions, unit) for unit in left]):
            if isinstance(row, Died):
                print(f"{left[place][0]}-{left[place][1]}: {row.why}", flush=True)
                continue
            rows.append(row)
            append_lines(args.data, [row])
            print(f"{row.unit}: {len(row.versions)} versions", flush=True)
    if args.page:
        args.page.write_text(page(rows))


if __name__ == "__main__":
    main()
