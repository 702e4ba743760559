"""Read the raw page of Nsight Compute as CSV (`ncu --csv --page raw`, live or imported) into a profile."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Mapping, Sequence

from ..records import LaunchProfile, Metric, Profile
from .metrics import METRICS, MetricSpec, metric_spec
from .ncu_errors import explain_ncu
from .units import UnknownUnit, to_base


class UnreadableReport(ValueError):
    """The text holds no usable table. The message says what was found instead, and what to do."""


def parse_ncu_csv(text: str, *, gpu: str = "", case: str = "", wanted: Sequence[str] = ()) -> Profile:
    """Parse the raw page: a row of names, a row of units, then one row per launch.

    Program output and ncu's own notes may stand before and after the table. Numbers may be scaled (`Kbyte`, `us`) or
    not, with thousands separators or not; the result is in the registry's base units. Metrics that the registry doesn't
    know are left out.

    Args:
        text: all that ncu printed.
        gpu: name of the GPU; default: the one that the table names, if it does.
        case: name of the case that ran.
        wanted: our names of metrics whose columns must be there.

    Raises:
        UnreadableReport: no table, a wanted column is missing, no launch, or a unit that can't be converted.
    """
    rows = _table(text)
    header, units, launches = rows[0], rows[1], rows[2:]
    if not launches:
        raise UnreadableReport(_why(text, "the table has no launches"))
    columns = {name: index for index, name in reversed(list(enumerate(header)))}
    for name in wanted:
        spec = metric_spec(name)
        if spec.ncu and _column(spec, columns) is None:
            raise UnreadableReport(
                f"no column for {name}: expected {' or '.join(spec.ncu)}; was it collected, and does this GPU have it?"
            )
    profiles = tuple(
        launch_profile(
            row[columns["Kernel Name"]],
            _extent(row[columns["Grid Size"]]),
            _extent(row[columns["Block Size"]]),
            {name: (_number(row[index]), units[index]) for name, index in columns.items()},
        )
        for row in launches
    )
    named = columns.get("device__attribute_display_name")
    gpu = gpu or (launches[0][named] if named is not None else "")
    return Profile(device="cuda", gpu=gpu, case=case, launches=profiles)


def launch_profile(
    signature: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    found: Mapping[str, tuple[float | None, str]],
) -> LaunchProfile:
    """Return a launch from what Nsight Compute says of it: value and unit by its own names, None for no value.

    Raises:
        UnreadableReport: a unit can't be converted.
    """
    metrics = {}
    for spec in METRICS:
        value, unit = found.get(_column(spec, found) or "", (None, ""))
        if value is None:
            continue
        try:
            metrics[spec.name] = Metric(value=to_base(value, unit, spec.unit), unit=spec.unit)
        except UnknownUnit as error:
            raise UnreadableReport(f"column of {spec.name}: {error}") from error
    return LaunchProfile(kernel=kernel_name(signature), grid=grid, block=block, metrics=metrics)


def kernel_name(signature: str) -> str:
    """Return the plain name of a kernel from its signature, e.g. `void ns::sum<float, 4>(const float *)` → `sum`."""
    name = re.sub(r"\(anonymous namespace\)|<unnamed>", "", signature)
    depth, kept = 0, ""
    for character in name:
        if character in "<(":
            depth += 1
        if depth == 0:
            kept += character
        if character in ">)":
            depth -= 1
    return kept.split()[-1].split("::")[-1] if kept.split() else signature


def instance_name(signature: str) -> str:
    """Return a kernel's name with its template arguments, e.g. `void ns::sum<int, (int)4>(int *)` → `sum<int, 4>`.

    A symbol that is not demangled stays as it is.
    """
    plain = re.sub(r"\(anonymous namespace\)|<unnamed>|\([a-z ]+\)(?=-?\d)", "", signature)
    depth, kept = 0, ""
    for character in plain.strip():
        depth += (character == "<") - (character == ">")
        if depth == 0 and character == "(":
            break
        kept = "" if depth == 0 and character in " :" else kept + character
    return kept or signature


def _table(text: str) -> list[list[str]]:
    start = re.search(r'^"ID",', text, re.MULTILINE)
    if start is None:
        raise UnreadableReport(_why(text, "no table of the raw page was found"))
    rows: list[list[str]] = []
    for row in csv.reader(io.StringIO(text[start.start() :])):
        if rows and len(row) != len(rows[0]):
            break
        rows.append(row)
    if len(rows) < 2 or rows[1][0].isdigit():
        raise UnreadableReport("the table has no row of units: print the raw page (`--page raw --csv`)")
    missing = {"Kernel Name", "Grid Size", "Block Size"} - set(rows[0])
    if missing:
        raise UnreadableReport(
            f"the table has no column {', '.join(sorted(missing))}: print the raw page (`--page raw`)"
        )
    return rows


def _why(text: str, otherwise: str) -> str:
    problem = explain_ncu(text)
    return problem.sentence if problem else f"{otherwise}; the output begins: {text.strip()[:200]!r}"


def _column(spec: MetricSpec, columns: Container[str]) -> str | None:
    return next((name for name in spec.ncu if name in columns), None)


def _extent(text: str) -> tuple[int, int, int]:
    x, y, z = (int(part) for part in re.findall(r"\d+", text.replace(",", ", ")))
    return x, y, z


def _number(text: str) -> float | None:
    """Return the number in a cell; None where ncu has none (`no data`, `nan`, `n/a`)."""
    plain = text.replace(",", "").split(" ")[0]
    return float(plain) if re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", plain) else None
