"""A suite: many units under one configuration, with one result file for each unit that has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from ..benchmark.task import Unit
from ..graph.checkpoints import Kind
from ..graph.errors import RunError
from ..graph.manifest import check_run_id, id_part, make_folder, now, write_json
from ..nodes.context import Options, default_home
from ..tools.records import Record
from ..tools.result.summary import RunStatus, Spent, Summary

ENDED: Final = frozenset({"improved", "no_gain", "failed", "stopped_budget"})
"""Statuses of a unit that is done; the others wait for something and are tried again."""


NO_CAPS: Final[Mapping[str, None]] = dict.fromkeys(("max_usd", "max_tokens", "max_calls", "max_wall_s"))
"""The caps of `Options`, which a suite may change as it goes on."""


class Search(Record):
    """How the rounds of a unit are spent. Both kinds spend as many: `Options.rounds`."""

    kind: Literal["greedy", "best-of-n"] = "greedy"
    """`greedy`: one run, each round from the best so far. `best-of-n`: n runs that begin with different strategies,
    of which the better half goes on, again and again (successive halving)."""
    width: int = Field(default=4, ge=2, le=64)
    """n."""


class Suite(Record):
    """What was ordered: `suites/<id>/suite.json`."""

    schema_version: int = 1
    id: str
    units: tuple[Unit, ...]
    options: Options
    search: Search = Search()
    checkpoints: Kind = "sqlite"
    created: str
    """UTC, ISO 8601."""


class UnitResult(Record):
    """How a unit ended: `suites/<id>/units/<unit>.json`. A crash is a result too, and counts as a failure."""

    schema_version: int = 1
    unit: Unit
    run: str
    status: RunStatus
    summary: Summary | None = None
    """None: the run died without one; `error` says how."""
    error: str = ""
    seconds: float = 0.0
    """Wall time of the process that ended it."""
    runs: tuple[str, ...] = ()
    """All runs of a search of several; `run` is the one that won."""
    spent: Spent | None = None
    """Over `runs`; None: the summary has it."""

    @property
    def gain(self) -> float | None:
        """Speedup (measured, or estimated on the cpu device); 1.0 if nothing won.

        None for a failure, and where the budget ended before anything won.
        """
        if self.summary is None or self.status == "failed":
            return None
        if self.status == "stopped_budget" and not self.summary.best:
            return None
        return self.summary.gain.value if self.summary.gain and self.summary.best else 1.0

    @property
    def weighted(self) -> float | None:
        """The paper's P (measured or estimated), as `gain` counts what did not win."""
        if self.gain is None or self.summary is None:
            return None
        figure = self.summary.weighted_speedup or self.summary.estimated_weighted_speedup
        return figure.value if figure and self.summary.best else 1.0

    @property
    def efficiency(self) -> float | None:
        """The fastest time that the hardware allows ÷ the time reached (measured or estimated); None: not known."""
        figure = self.summary and (self.summary.efficiency or self.summary.estimated_efficiency)
        return figure.value if figure else None

    @property
    def cost(self) -> Spent:
        """Questions, tokens and money, over all runs of the unit."""
        return self.spent or (self.summary.spent if self.summary else Spent())


def suite_folder(suite_id: str, home: Path | None = None) -> Path:
    """Return the folder of a suite."""
    return (home or default_home()) / "suites" / check_run_id(suite_id, "suite id")


def open_suite(
    suite_id: str,
    units: Sequence[Unit],
    options: Options,
    home: Path | None = None,
    *,
    search: Search | None = None,
    checkpoints: Kind = "sqlite",
) -> Suite:
    """Return the suite of this id, made if it is new.

    Raises:
        RunError: it exists with other units or options (results of two configurations must not mix), or can't be read.
    """
    if len(suite_id) > 24:
        raise RunError(f"suite id {suite_id!r}: at most 24 characters, since runs are named by suite and unit")
    folder = suite_folder(suite_id, home)
    if (folder / "suite.json").exists():
        suite = read_suite(suite_id, home)
        began, now_wanted = suite.options.model_copy(update=NO_CAPS), options.model_copy(update=NO_CAPS)
        if (set(suite.units), began, suite.search) != (set(units), now_wanted, search or Search()):
            raise RunError(
                f"suite {suite_id!r} exists with other units or options: give those that it began with, "
                "or another --suite"
            )
        return suite if suite.options == options else _with_caps(suite, options, home)
    suite = Suite(
        id=suite_id,
        units=tuple(units),
        options=options,
        search=search or Search(),
        checkpoints=checkpoints,
        created=now(),
    )
    ids = [run_id_of(suite, unit) for unit in units]  # a folder's name may be too long for one
    if twice := next((one for one in ids if ids.count(one) > 1), ""):
        raise RunError(f"two of the units would be run {twice!r}: rename one of the folders")
    make_folder(folder / "units")
    write_json(folder / "suite.json", suite)
    return suite


def _with_caps(suite: Suite, options: Options, home: Path | None) -> Suite:
    """Return the suite under other caps: units that were stopped by the old ones are open again."""
    suite = suite.model_copy(update={"options": options})
    write_json(suite_folder(suite.id, home) / "suite.json", suite)
    for unit, result in read_results(suite, home).items():
        if result.status == "stopped_budget":
            (suite_folder(suite.id, home) / "units" / f"{unit.name}.json").unlink(missing_ok=True)
    return suite


def read_suite(suite_id: str, home: Path | None = None) -> Suite:
    """Read a suite.

    Raises:
        RunError: there is none, or it can't be read.
    """
    path = suite_folder(suite_id, home) / "suite.json"
    try:
        return Suite.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise RunError(f"no suite {suite_id!r} in {home or default_home()}") from None
    except (OSError, ValidationError) as error:
        raise RunError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def run_id_of(suite: Suite, unit: Unit) -> str:
    """Return the id of the run that a suite does a unit in."""
    return check_run_id(f"{suite.id}.{id_part(unit.name)}")


def log_file(suite: Suite, unit: Unit, home: Path | None = None) -> Path:
    """Return where what the processes of a unit print goes."""
    return suite_folder(suite.id, home) / "logs" / f"{unit.name}.log"


def write_result(suite: Suite, result: UnitResult, home: Path | None = None) -> None:
    """Keep how a unit ended."""
    write_json(suite_folder(suite.id, home) / "units" / f"{result.unit.name}.json", result)


def read_results(suite: Suite, home: Path | None = None) -> dict[Unit, UnitResult]:
    """Return the results there are. A damaged file counts as none: the unit is done again."""
    found = {}
    for unit in suite.units:
        path = suite_folder(suite.id, home) / "units" / f"{unit.name}.json"
        try:
            found[unit] = UnitResult.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            continue
    return found


def total_spent(spent: Sequence[Spent]) -> Spent:
    """Return what several runs cost together; the money is unknown if any of it is."""
    money = [s.usd for s in spent if s.calls]
    return Spent(
        calls=sum(s.calls for s in spent),
        input_tokens=sum(s.input_tokens for s in spent),
        output_tokens=sum(s.output_tokens for s in spent),
        usd=None if None in money else sum(m for m in money if m is not None),
        tokens_estimated=any(s.tokens_estimated for s in spent),
    )
