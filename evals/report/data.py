"""All that a report is made from: a suite, its results and what was measured, and the story of each unit's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from ...benchmark.scoring import geometric_mean
from ...benchmark.task import Unit
from ...graph.errors import RunError, UnknownRun
from ...graph.manifest import now, read_manifest, write_json
from ...graph.run import look
from ...nodes.context import default_home
from ...tools.records import Record
from ...tools.result.measurements import Measurements
from ..points import measurements
from ..suite import Suite, UnitResult, read_results, read_suite, suite_folder
from .story import Story, read_story


class ReportData(Record):
    """One suite, or one run as a suite of one unit."""

    schema_version: int = 1
    suite: Suite
    results: tuple[UnitResult, ...]
    measurements: tuple[Measurements, ...]
    stories: tuple[Story, ...]
    libraries: Mapping[str, float] = {}
    """Unit → speedup over the baseline of the fastest vendor library that the judge accepts, over the timed cases."""

    @property
    def estimated(self) -> bool:
        """Gains and times are estimates of the cpu device's cost model."""
        return self.suite.options.device == "cpu"

    @property
    def by_unit(self) -> dict[Unit, UnitResult]:
        """The results by unit."""
        return {result.unit: result for result in self.results}

    @property
    def over_libraries(self) -> list[float]:
        """Every winner's speedup over the fastest vendor library, where there is one."""
        gains = ((result.gain, self.libraries.get(result.unit.name)) for result in self.results)
        return [gain / library for gain, library in gains if gain and library]


def gather(name: str, home: Path | None = None) -> ReportData:
    """Read a suite or a run of a home, or a file that `write_data` wrote.

    Raises:
        RunError: it is none of these, or cannot be read.
    """
    home = home or default_home()
    if name.endswith(".json"):
        return _read_data(Path(name))
    if (suite_folder(name, home) / "suite.json").exists():
        suite = read_suite(name, home)
        results = read_results(suite, home)
    else:
        suite, results = _run_as_suite(name, home)
    found = [results[unit] for unit in suite.units if unit in results]
    return ReportData(
        suite=suite,
        results=tuple(map(_without_places, found)),
        measurements=tuple(m for result in found if (m := measurements(result, home)) is not None),
        stories=tuple(story for result in found if (story := read_story(result, home)) is not None),
    )


def joined(parts: Sequence[ReportData]) -> ReportData:
    """Return suites as one, under the first one's name: a suite that was done in pieces.

    Raises:
        RunError: they were run under different configurations, or share a unit.
    """
    first = parts[0].suite
    units = [unit for part in parts for unit in part.suite.units]
    if len(set(units)) < len(units):
        raise RunError("suites that share units are compared, not joined")
    for part in parts[1:]:
        if (part.suite.options, part.suite.search) != (first.options, first.search):
            raise RunError(f"suites {first.id} and {part.suite.id} were run with different options: they don't join")
    return ReportData(
        suite=first.model_copy(update={"units": tuple(units)}),
        results=tuple(result for part in parts for result in part.results),
        measurements=tuple(m for part in parts for m in part.measurements),
        stories=tuple(story for part in parts for story in part.stories),
        libraries={unit: gain for part in parts for unit, gain in part.libraries.items()},
    )


def with_libraries(data: ReportData, times_us: Mapping[tuple[str, str], float]) -> ReportData:
    """Return the data with what libraries make of the units, from their times by unit and case on the same GPU.

    A unit counts where there is a time for every timed case.
    """
    found = {}
    for m in data.measurements:
        cases = [(case.baseline_us, times_us.get((m.unit, case.case))) for case in (m.gain.cases if m.gain else ())]
        ratios = [baseline / library for baseline, library in cases if library]
        if ratios and len(ratios) == len(cases):
            found[m.unit] = geometric_mean(ratios)
    return data.model_copy(update={"libraries": found})


def write_data(data: ReportData, path: Path) -> None:
    """Write all that a report is made from."""
    write_json(path, data)


def _without_places(result: UnitResult) -> UnitResult:
    """Return a result that does not say where it lies on this machine: others read the report."""
    if result.summary is None:
        return result
    best = result.summary.best
    best = best and best.model_copy(update={"file": Path(best.file).name})
    return result.model_copy(update={"summary": result.summary.model_copy(update={"result": "", "best": best})})


def _read_data(path: Path) -> ReportData:
    try:
        return ReportData.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise RunError(f"{path} is no data of a report: {where}: {fault['msg']}") from None


def _run_as_suite(run: str, home: Path) -> tuple[Suite, dict[Unit, UnitResult]]:
    try:
        manifest = read_manifest(run, home)
    except UnknownRun:
        raise RunError(f"no suite, ablation or run {run!r} in {home}: `cudamaster runs` lists the runs") from None
    unit = Unit(task=manifest.task, precision=manifest.precision)
    suite = Suite(id=run, units=(unit,), options=manifest.options, checkpoints=manifest.checkpoints, created=now())
    summary = look(run, home=home)
    return suite, {unit: UnitResult(unit=unit, run=run, status=summary.status, summary=summary)}
