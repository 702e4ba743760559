"""A suite's rows as Markdown, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from ...benchmark.contract import Precision
from ...benchmark.scoring import geometric_mean
from ...graph.errors import RunError
from ..astra import astra_table
from ..points import markdown_points, point_of
from ..table import markdown
from .data import ReportData
from .html import factor
from .rows import Row, table_rows
from .where import where


def suite_markdown(data: ReportData, title: str) -> str:
    """Return the suite as a Markdown page: table, failures, times, scores, costs and transitions."""
    point = point_of(data.suite.id, data.suite, data.by_unit, data.measurements)
    parts = [f"# {title}\n", f"{where(data)}\n", markdown(data.suite, data.by_unit), *_failures(data), *_times(data)]
    parts += ["## Scores and costs\n", markdown_points("suite", [point])]
    if rows := astra_table(data.by_unit):
        word = "estimated here" if data.estimated else "here"
        lines = ["## The kernels that Astra shares\n", f"| kernel | Astra | the paper | fp32 {word} | bf16 {word} |"]
        lines.append("| --- | --- | --- | --- | --- |")
        for row in rows:
            cells = [row.published.task, factor(row.published.astra), factor(row.published.paper)]
            cells += [factor(row.ours.get(precision)) for precision in Precision]
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _failures(data: ReportData) -> list[str]:
    failed = [r for r in data.results if r.status == "failed"]
    lines = [f"- {r.unit.name}: {r.summary.reason if r.summary else r.error}" for r in failed]
    return ["## Failures\n", "\n".join(lines) + "\n"] if lines else []


def _times(data: ReportData) -> list[str]:
    rows = [row for row in table_rows(data) if row.baseline_us is not None]
    if not rows:
        return []
    lines = ["Geometric means over the timed cases, in microseconds."]
    heads = ["unit", "baseline", "best", "class before → after"]
    if over := data.over_libraries:
        ahead = sum(ratio >= 1.0 for ratio in over)
        lines += ["Library: the speedup over the baseline of the fastest vendor library that the judge accepts."]
        lines += [
            f"{ahead} of the {len(over)} winners that have one are at least as fast as it; geometric mean of their"
        ]
        lines += [f"speedup over it: {factor(geometric_mean(over))}."]
        heads.insert(3, "library")
    lines += ["", f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        classes = [name.replace("_", " ") for name in (row.bottleneck_before, row.bottleneck_after) if name]
        cells = [row.unit, f"{row.baseline_us:,.1f}", f"{row.best_us:,.2f}", " → ".join(classes)]
        if over:
            cells.insert(3, factor(row.library))
        lines.append(f"| {' | '.join(cells)} |")
    return ["## Estimated times\n" if data.estimated else "## Times\n", "\n".join(lines) + "\n"]


def write_csv(data: ReportData, path: Path) -> None:
    """Write one row a unit, with the fields of `Row` as columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(Row.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.model_dump() for row in table_rows(data))
    path.write_text(text.getvalue())


def write_parquet(data: ReportData, path: Path) -> None:
    """Write one row a unit, with the fields of `Row` as typed columns.

    Raises:
        RunError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RunError("Parquet needs the extra: pip install 'cudamaster[report]'") from None
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    fields = [(name, types[_plain(field.annotation)]) for name, field in Row.model_fields.items()]
    rows: Sequence[dict[str, object]] = [row.model_dump() for row in table_rows(data)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(fields)), path)


def _plain(annotation: object) -> type:
    """Return the type of a field that may be None as well."""
    return next(kind for kind in (bool, int, float, str) if annotation in (kind, kind | None))
