"""A suite's results as committed data and as a page made from them alone.

`python -m cudamaster.evals.results SUITE DATA.json PAGE.md [--home DIR] [--libraries FILE] [--with SUITE …]` gathers
what the suite's runs measured into DATA.json (if the suite is in the home) and writes PAGE.md from DATA.json. The units
of the suites after `--with`, which may have run on other GPUs of the same kind, join those of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..benchmark.scoring import geometric_mean
from ..graph.manifest import run_folder, write_json
from ..nodes.context import Options, default_home
from ..tools.records import Record
from ..tools.result.measurements import Measurements
from .baseline_records import library_times, read_measured
from .suite import Suite, UnitResult, read_results, read_suite, suite_folder
from .table import markdown


class SuiteData(Record):
    """Everything that a page about a suite needs."""

    schema_version: int = 1
    suite: Suite
    results: tuple[UnitResult, ...]
    measurements: tuple[Measurements, ...]


def gather(suite_id: str, home: Path) -> SuiteData:
    """Read a suite and what its runs measured.

    Raises:
        RunError: there is no such suite.
    """
    suite = read_suite(suite_id, home)
    results = read_results(suite, home)
    files = [run_folder(result.run, home) / "result" / "measurements.json" for result in results.values()]
    return SuiteData(
        suite=suite,
        results=tuple(results[unit] for unit in suite.units if unit in results),
        measurements=tuple(Measurements.model_validate_json(f.read_bytes()) for f in files if f.exists()),
    )


def joined(parts: Sequence[SuiteData]) -> SuiteData:
    """Return suites as one, under the first one's name; the first result and measurement of a unit count.

    Raises:
        ValueError: they were run with different options.
    """
    first = parts[0].suite
    for part in parts[1:]:
        if (part.suite.options, part.suite.search) != (first.options, first.search):
            raise ValueError(f"suites {first.id} and {part.suite.id} were run with different options: they don't join")
    units = {unit: None for part in parts for unit in part.suite.units}
    results = {result.unit: result for part in reversed(parts) for result in part.results}
    measured = {row.unit: row for part in reversed(parts) for row in part.measurements}
    return SuiteData(
        suite=first.model_copy(update={"units": tuple(units)}),
        results=tuple(results[unit] for unit in units if unit in results),
        measurements=tuple(measured[unit.name] for unit in units if unit.name in measured),
    )


def page(data: SuiteData, title: str, libraries: Mapping[tuple[str, str], float] | None = None, note: str = "") -> str:
    """Return the page in Markdown.

    `libraries` are the fastest library's times by unit and case, microseconds; `note` is what else a reader must know.
    """
    measured = {m.unit: m for m in data.measurements}
    where = next(iter(measured.values())).device if measured else None
    dates = sorted({m.date[:10] for m in data.measurements})
    lines = [f"# {title}", ""]
    if where:
        place = (
            f"{where.gpu}, driver {where.driver}, CUDA {where.toolkit}" if where.name == "cuda" else "the cpu device"
        )
        lines += [f"{place}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}; {_how(data.suite.options)}.", ""]
    lines += [note, ""] if note else []
    lines += [markdown(data.suite, {r.unit: r for r in data.results})]
    failed = [(r.unit.name, r.summary.reason if r.summary else r.error) for r in data.results if r.status == "failed"]
    lines += ["## Failures", "", *(f"- {unit}: {reason}" for unit, reason in failed), ""] if failed else []
    lines += ["## Times", "", "Geometric means over the timed cases, in microseconds. Library ratio: the best's time ÷"]
    lines += ["that of the fastest library.", ""]
    lines += [
        "| unit | baseline | best | speedup | efficiency | library ratio | class before → after |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for unit in data.suite.units:
        row = measured.get(unit.name)
        if row is None or row.gain is None:
            lines.append(f"| {unit.name} | | | | | | {_classes(row) if row else ''} |")
            continue
        before = geometric_mean([c.baseline_us for c in row.gain.cases])
        after = geometric_mean([c.candidate_us for c in row.gain.cases])
        efficiency = f"{row.gain.efficiency:.0%}" if row.gain.efficiency else ""
        figures = (
            f"{before:.1f} | {after:.2f} | {_speedup(row)} | {efficiency} | {_library_ratio(row, libraries or {})}"
        )
        lines.append(f"| {unit.name} | {figures} | {_classes(row)} |")
    return "\n".join([*lines, ""])


def _how(options: Options) -> str:
    return (
        f"model {options.model}, {options.rounds} rounds, at most {options.repairs} repairs, profile {options.profile}"
    )


def _speedup(row: Measurements) -> str:
    assert row.gain is not None
    if row.gain.kind == "estimated":
        return f"{row.gain.geomean:.3g}x (estimate)"
    mean = row.gain.geomean
    return f"{mean.value:.3g}x [{mean.low:.3g}, {mean.high:.3g}]"


def _library_ratio(row: Measurements, libraries: Mapping[tuple[str, str], float]) -> str:
    """Return the ratio over the cases that were measured on a GPU and have a library."""
    if row.gain is None or row.gain.kind == "estimated":
        return ""
    ratios = [c.candidate_us / us for c in row.gain.cases if (us := libraries.get((row.unit, c.case)))]
    return f"{geometric_mean(ratios):.3g}" if ratios else ""


def _classes(row: Measurements) -> str:
    names = [name.replace("_", " ") for name in (row.bottleneck_before, row.bottleneck_after) if name]
    return " → ".join(names)


def main(arguments: Sequence[str] | None = None) -> None:
    """Gather and write, as the module's description says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("data", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--title", default="")
    parser.add_argument("--note", default="", help="what a reader must know besides")
    parser.add_argument("--with", dest="others", metavar="SUITE", nargs="*", default=[])
    parser.add_argument("--libraries", type=Path, help="what `evals.baselines` measured on the same GPU")
    parser.add_argument("--home", type=Path, default=default_home())
    given = parser.parse_args(arguments)
    if suite_folder(given.suite, given.home).exists():
        write_json(given.data, joined([gather(suite, given.home) for suite in (given.suite, *given.others)]))
    data = SuiteData.model_validate_json(given.data.read_bytes())
    libraries = library_times(read_measured(given.libraries)) if given.libraries else {}
    given.page.write_text(page(data, given.title or f"Suite {data.suite.id}", libraries, given.note))


if __name__ == "__main__":
    main()
