"""The `report` command: what is asked for, as the file that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...graph.errors import RunError
from ..ablate import read_ablation
from ..baseline_records import library_times, read_measured
from .comparison import Arms, comparison_markdown, comparison_page
from .data import gather, joined, with_libraries, write_data
from .export import suite_markdown, write_csv, write_parquet
from .suite_page import suite_page


def write_report(
    what: Sequence[str],
    *,
    out: Path | None,
    data: Path | None = None,
    title: str = "",
    home: Path | None = None,
    join: bool = False,
    libraries: Path | None = None,
) -> list[str]:
    """Write a report on a suite, a run, an ablation or several suites. Return lines that say what was written.

    Args:
        what: names, or files that `data` wrote.
        data: file for all that the report is made from.
        join: several suites are one that was done in pieces, rather than compared.
        libraries: what `python -m cudamaster.evals.baselines` measured of vendor libraries on the same GPU.

    Raises:
        RunError: one of them is not there, or the file's kind is unknown.
    """
    out = out or Path(f"{'-'.join(Path(name).stem for name in what)}.html")
    try:
        arms = None if join else _arms(what, home)
        if arms is not None:
            _write_comparison(arms, out, title)
            return [f"{out}: {', '.join(arms.data)}"]
        found = joined([gather(name, home) for name in what])
        if libraries is not None:
            if not libraries.is_file():
                raise RunError(f"{libraries}: no such file of libraries' times")
            found = with_libraries(found, library_times(read_measured(libraries)))
        if data is not None:
            write_data(found, data)
        match out.suffix:
            case ".html":
                out.write_text(suite_page(found, title or f"Suite {found.suite.id}"))
            case ".md":
                out.write_text(suite_markdown(found, title or f"Suite {found.suite.id}"))
            case ".csv":
                write_csv(found, out)
            case ".parquet":
                write_parquet(found, out)
            case _:
                raise RunError(f"{out}: a report is written as .html, .md, .csv or .parquet")
    except OSError as error:
        raise RunError(f"{error.filename or out} cannot be written: {error.strerror}") from None
    left = len(found.suite.units) - len(found.results)
    count = len(found.results)
    return [f"{out}: {count} unit{'' if count == 1 else 's'}" + (f", {left} not finished" if left else "")]


def _arms(what: Sequence[str], home: Path | None) -> Arms | None:
    """Return the suites to compare; None: there is but one thing to tell of."""
    if len(what) > 1:
        found = [gather(name, home) for name in what]
        names = [data.suite.id for data in found]
        if len(set(names)) < len(names):
            names = [Path(name).stem for name in what]
        return Arms("suite", dict(zip(names, found, strict=True)))
    if what[0].endswith(".json") or (ablation := read_ablation(what[0], home)) is None:
        return None
    named = {f"{ablation.what} {arm}" if arm.isdigit() else arm: suite for arm, suite in ablation.arms.items()}
    return Arms(ablation.what, {arm: gather(suite, home) for arm, suite in named.items()})


def _write_comparison(arms: Arms, out: Path, title: str) -> None:
    shown = title or f"{arms.what.capitalize()}: {', '.join(arms.data)}"
    try:
        if out.suffix == ".md":
            out.write_text(f"# {shown}\n\n{comparison_markdown(arms)}")
        elif out.suffix == ".html":
            out.write_text(comparison_page(arms, shown))
        else:
            raise RunError(f"{out}: a comparison is written as .html or .md")
    except ValueError as error:
        raise RunError(str(error)) from None
