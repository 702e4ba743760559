"""Best of n with successive halving: n runs of one unit, of which the better half goes on, again and again."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from langgraph.runtime import RunControl

from ..benchmark.task import Unit
from ..graph.errors import RunError
from ..graph.manifest import make_folder, write_json
from ..graph.run import look
from ..graph.story import read_state
from ..tools.records import Record
from ..tools.result.summary import Summary
from .leg import advance, advance_to
from .suite import ENDED, Suite, UnitResult, run_id_of, suite_folder, total_spent


class Rung(NamedTuple):
    """One stage of successive halving."""

    runs: int
    """That take part."""
    upto: int
    """The round up to which each goes, counted from its start."""


class Standings(Record):
    """The stages that are over: by run, how much faster its best kernel is than the baseline."""

    schema_version: int = 1
    rungs: tuple[dict[str, float], ...] = ()


def ladder(width: int, rounds: int) -> tuple[Rung, ...]:
    """Return the rungs that spend `rounds` rounds over all runs: about as many on each rung, what is left on the last.

    Raises:
        RunError: too few rounds for so many runs.
    """
    sizes = [width]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    if rounds < sum(sizes):
        least = " + ".join(map(str, sizes))
        raise RunError(f"best of {width} takes at least {sum(sizes)} rounds ({least}): give --rounds")
    share, left, each = rounds // len(sizes), rounds, []
    for place, size in enumerate(sizes[:-1]):
        spare = left - sum(sizes[place + 1 :])  # every later run needs a round
        each.append(max(1, min(share, spare) // size))
        left -= size * each[-1]
    each.append(left)
    return tuple(Rung(size, upto) for size, upto in zip(sizes, accumulate(each), strict=True))


def best_of_n(suite: Suite, unit: Unit, home: Path | None = None, control: RunControl | None = None) -> UnitResult:
    """Advance a unit's runs as far as they go. Each begins with another strategy; only survivors are profiled.

    Raises:
        RunInterrupted: `control` was asked to stop; the next call goes on.
        RunError: too few rounds for so many runs, or as a run says.
    """
    rungs = ladder(suite.search.width, suite.options.rounds)
    names = [f"{run_id_of(suite, unit)}.v{number}" for number in range(1, suite.search.width + 1)]
    options = {
        name: suite.options.model_copy(
            update={"rounds": rungs[-1].upto, "variant": number, "variants": suite.search.width}
        )
        for number, name in enumerate(names, 1)
    }
    file = suite_folder(suite.id, home) / "search" / f"{unit.name}.json"
    standings = Standings.model_validate_json(file.read_bytes()) if file.exists() else Standings()
    alive = names
    for number, rung in enumerate(rungs[:-1]):
        if number >= len(standings.rungs):
            came = [advance_to(suite, unit, name, options[name], rung.upto, home, control) for name in alive]
            if waits := [s for s in came if s.status not in ENDED | {"interrupted"}]:
                return _result(unit, waits[0], names, home)
            standings = Standings(rungs=(*standings.rungs, {name: standing(name, home) for name in alive}))
            make_folder(file.parent)
            write_json(file, standings)
        kept = standings.rungs[number]
        alive = sorted(alive, key=lambda name: -kept[name])[: rungs[number + 1].runs]
    (winner,) = alive
    return _result(unit, advance(suite, unit, winner, options[winner], home, control), names, home)


def standing(run: str, home: Path | None = None) -> float:
    """Return how much faster a run's best kernel is than the baseline, one that awaits its profile included."""
    _, _, state = read_state(run, home)
    if state.get("route") == "profiler" and state.get("candidate"):
        return float((state["candidate"] or {})["value"])
    return float(state["best"]["value"]) if state.get("best") else 0.0


def _result(unit: Unit, summary: Summary, names: list[str], home: Path | None) -> UnitResult:
    spent = [look(name, home=home).spent for name in names]
    return UnitResult(
        unit=unit, run=summary.run, status=summary.status, summary=summary, runs=tuple(names), spent=total_spent(spent)
    )
