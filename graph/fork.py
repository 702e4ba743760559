"""Time travel: a new run that begins where another one was after some round."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ..tools.records import Record
from .checkpoints import open_checkpoints
from .errors import NoSuchRound, RunExists
from .manifest import check_run_id, locked, make_folder, now, read_manifest, read_options, run_folder, write_manifest
from .run import new_run_id


class Point(Record):
    """A moment of a run that can be gone back to: the end of a round."""

    round: int
    strategy: str
    value: float
    """Gain of the best kernel then (measured or estimated, as the run's device says)."""
    checkpoint: str
    """LangGraph's id of it."""


def points(run_id: str, home: Path | None = None) -> tuple[Point, ...]:
    """Return the moments that `fork` can go back to, oldest first.

    Raises:
        UnknownRun, BadCheckpoint: as they say.
    """
    manifest = read_manifest(run_id, home)
    with open_checkpoints(run_folder(run_id, home), kind=manifest.checkpoints) as saver:
        return tuple(_point(item) for item in _ends_of_rounds(list(saver.list(_config(run_id)))))


def fork(
    run_id: str,
    after_round: int,
    *,
    new_run: str = "",
    changes: Mapping[str, Any] | None = None,
    home: Path | None = None,
) -> str:
    """Copy a run as it was after a round to a new one, with changed options, and return the new one's id.

    The new run asks its own questions: replies of the old one to later questions are not taken over. `resume` goes on.

    Raises:
        NoSuchRound: the run has not finished that round.
        RunExists, RunError: the new id is taken or none; an option is wrong.
        UnknownRun, RunBusy, BadCheckpoint: as they say.
    """
    manifest = read_manifest(run_id, home)
    new_run = check_run_id(new_run or new_run_id(manifest.unit))
    folder = run_folder(new_run, home)
    options = read_options(manifest.options.model_dump() | dict(changes or {}))
    with (
        locked(run_folder(run_id, home)),
        open_checkpoints(run_folder(run_id, home), kind=manifest.checkpoints) as saver,
    ):
        ends = _ends_of_rounds(list(saver.list(_config(run_id))))
        chosen = next((item for item in ends if _point(item).round == after_round), None)
        if chosen is None:
            there = ", ".join(str(_point(item).round) for item in ends) or "none"
            raise NoSuchRound(f"run {run_id!r} has no end of round {after_round} to go back to (there is: {there})")
    make_folder(folder)
    with locked(folder):
        if (folder / "manifest.json").exists():
            raise RunExists(f"run {new_run!r} exists: choose another id")
        made = manifest.model_copy(
            update={"run_id": new_run, "options": options, "created": now(), "forked_from": f"{run_id}@{after_round}"}
        )
        with open_checkpoints(folder, kind=made.checkpoints) as saver:
            checkpoint = chosen.checkpoint
            saver.put(_config(new_run), checkpoint, {**chosen.metadata, "parents": {}}, checkpoint["channel_versions"])
        write_manifest(made, folder)
    return new_run


def _config(run_id: str) -> Any:
    return {"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}


def _ends_of_rounds(newest_first: list[CheckpointTuple]) -> list[CheckpointTuple]:
    """Return the last checkpoint of every round that has been recorded, or is about to be, oldest first."""
    ends: dict[int, CheckpointTuple] = {}
    for item in reversed(newest_first):
        values = item.checkpoint["channel_values"]
        if values.get("round") and values.get("route") == "recorder":
            ends[values["round"]] = item
    return list(ends.values())


def _point(item: CheckpointTuple) -> Point:
    values = item.checkpoint["channel_values"]
    best = values["candidate"] if values.get("improved") else values["best"]
    return Point(
        round=values["round"],
        strategy=(values.get("plan") or {}).get("strategy", ""),
        value=best["value"],
        checkpoint=item.checkpoint["id"],
    )
