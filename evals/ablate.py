"""The `ablate` command: the same units under several configurations, each arm a suite of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from ..graph.errors import RunError
from ..graph.manifest import check_run_id, make_folder, write_json
from ..nodes.context import PRESETS, Options, default_home
from ..tools.records import Record
from .order import Order, check_options
from .points import Point, markdown_points, point
from .progress import run_watched
from .search import ladder
from .suite import Search, Suite, open_suite, read_suite

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "profile": ("none", "filtered", "full", "diagnosis"),
    "rounds": ("1", "2", "3", "4", "5"),
    "repairs": ("0", "1", "2", "3"),
    "search": ("greedy", "best-of-n"),
    "preset": ("paper", "ours"),
    "model": (),
}
"""What can be varied, with its arms unless others are asked for."""


class Arm(NamedTuple):
    """One configuration of a comparison."""

    name: str
    options: Options
    search: Search


class Ablation(Record):
    """What was ordered: `ablations/<name>.json`."""

    schema_version: int = 1
    name: str
    what: str
    arms: Mapping[str, str]
    """Name of the arm → id of its suite."""


def arms(what: str, values: Sequence[str], options: Options, width: int) -> list[Arm]:
    """Return the arms of an ablation.

    Raises:
        RunError: a value is none of this ablation's, or there are fewer than two.
    """
    values = list(dict.fromkeys(values)) or list(VALUES[what])
    if len(values) < 2:
        raise RunError(f"an ablation of {what} compares at least two arms: give them as --values A,B")
    if what in ("search", "preset") and (unknown := set(values) - set(VALUES[what])):
        raise RunError(f"{what} {sorted(unknown)[0]!r}: there is {', '.join(VALUES[what])}")
    if what == "search":
        ladder(width, options.rounds)
    return [_arm(what, value, options, width) for value in values]


def _arm(what: str, value: str, options: Options, width: int) -> Arm:
    if what == "search":
        return Arm(value, options, Search(kind="best-of-n", width=width) if value == "best-of-n" else Search())
    changes: dict[str, Any] = {what: value}
    if what == "preset":
        changes = PRESETS["paper"] if value == "paper" else {}
    try:
        return Arm(value, Options.model_validate({**options.model_dump(), **changes}), Search())
    except ValidationError as error:
        raise RunError(f"{what} {value!r}: {error.errors()[0]['msg']}") from None


def open_ablation(
    name: str, what: str, chosen: Sequence[Arm], order: Order, home: Path
) -> tuple[Ablation, dict[str, Suite]]:
    """Return the ablation of this name with its suites by arm, made if it is new.

    Raises:
        RunError: it exists with other arms, units or options.
    """
    if len(check_run_id(name)) > 16:
        raise RunError(f"name {name!r}: at most 16 characters, since its suites and runs are named by it")
    file = home / "ablations" / f"{name}.json"
    ablation = Ablation(
        name=name, what=what, arms={arm.name: f"{name}.a{number}" for number, arm in enumerate(chosen, 1)}
    )
    if file.exists() and Ablation.model_validate_json(file.read_bytes()) != ablation:
        raise RunError(f"ablation {name!r} exists with other arms: give those that it began with, or another --name")
    suites = {
        arm.name: open_suite(
            ablation.arms[arm.name], order.units, arm.options, home, search=arm.search, checkpoints=order.checkpoints
        )
        for arm in chosen
    }
    make_folder(file.parent)
    write_json(file, ablation)
    return ablation, suites


def read_ablation(name: str, home: Path | None = None) -> Ablation | None:
    """Return the ablation of this name; None if there is none."""
    file = (home or default_home()) / "ablations" / f"{name}.json"
    return Ablation.model_validate_json(file.read_bytes()) if file.exists() else None


def points(ablation: Ablation, home: Path) -> list[Point]:
    """Return the ablation's table: a point for each arm."""
    return [point(arm, read_suite(suite, home), home) for arm, suite in ablation.arms.items()]


def run_ablation(
    what: str, values: Sequence[str], order: Order, *, name: str, width: int, home: Path, as_json: bool
) -> int:
    """Run all arms and print their table. Return 0 if every unit has ended, 3 if some still wait, 130 if stopped.

    Raises:
        RunError: arms that are none, or an ablation that exists with others.
        ModelError: a model cannot be had here.
    """
    chosen = arms(what, values, order.options, width)
    for arm in chosen:
        check_options(order, arm.options)
    ablation, suites = open_ablation(name, what, chosen, order, home)
    code = run_watched(list(suites.values()), order.executor, home, quiet=as_json)
    table = points(ablation, home)
    if as_json:
        body = {
            "ablation": ablation.model_dump(mode="json"),
            "points": [item.model_dump(mode="json") for item in table],
        }
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    else:
        sys.stdout.write(markdown_points(what, table))
    return code
