"""Where the state is kept between two nodes: one SQLite file per run, or a Postgres server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

from .errors import BadCheckpoint, RunError

POSTGRES_VARIABLE = "CUDAMASTER_POSTGRES"
"""Environment variable with the connection string; it holds a password, so it is no option and never stored."""

Kind = Literal["sqlite", "postgres"]

KEPT = 2
"""Newest checkpoints that are always kept, beside one per round."""


def checkpoint_file(folder: Path) -> Path:
    """Return where a run's SQLite checkpoints lie."""
    return folder / "checkpoint.sqlite"


@contextmanager
def open_checkpoints(folder: Path, *, kind: Kind = "sqlite") -> Iterator[BaseCheckpointSaver[Any]]:
    """Open the checkpoints of the run in `folder`.

    Raises:
        BadCheckpoint: the file is damaged.
        RunError: no Postgres server is named, or its package is missing.
    """
    if kind == "postgres":
        with _open_postgres() as saver:
            yield saver
        return
    file = checkpoint_file(folder)
    connection = sqlite3.connect(file, check_same_thread=False, timeout=30)
    try:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            saver = SqliteSaver(connection)
            saver.setup()
            if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(found)
        except sqlite3.DatabaseError as error:
            raise BadCheckpoint(
                f"{file} is damaged ({error}). Nothing paid for is lost: remove the file, and `resume` starts the run "
                "over, taking the replies it already has from its journal"
            ) from None
        yield saver
    finally:
        connection.close()


def check_checkpoints(kind: Kind) -> None:
    """Refuse a place for checkpoints that cannot be had here, before anything is written.

    Raises:
        RunError: no Postgres server is named, it does not answer, or its package is missing.
    """
    if kind == "postgres":
        with _open_postgres():
            pass


@contextmanager
def _open_postgres() -> Iterator[BaseCheckpointSaver[Any]]:
    url = os.environ.get(POSTGRES_VARIABLE)
    if not url:
        raise RunError(f"this run keeps its checkpoints in Postgres: set {POSTGRES_VARIABLE}=postgresql://…")
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
    except ImportError:
        raise RunError("checkpoints in Postgres need the extra: pip install 'cudamaster[postgres]'") from None
    import psycopg

    try:
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()
            yield saver
    except psycopg.OperationalError as error:
        raise RunError(f"the Postgres server of {POSTGRES_VARIABLE} does not answer: {error}".strip()) from None


def prune(saver: BaseCheckpointSaver[Any], thread: str, *, compact: bool = False) -> None:
    """Drop old checkpoints: the newest two stay, and the last of every round. `compact` shrinks the SQLite file too."""
    config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    doomed = _superseded(list(saver.list(config)))
    if isinstance(saver, SqliteSaver):
        with saver.lock, saver.conn:
            for table in ("writes", "checkpoints"):
                saver.conn.executemany(
                    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id = ?", [(thread, id) for id in doomed]
                )
        if compact:
            saver.conn.execute("VACUUM")
            saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    elif hasattr(saver, "conn"):  # Postgres; values that only a dropped checkpoint used stay until the run is deleted
        with saver.conn.cursor() as cursor:
            for table in ("checkpoint_writes", "checkpoints"):
                cursor.executemany(
                    f"DELETE FROM {table} WHERE thread_id = %s AND checkpoint_id = %s", [(thread, id) for id in doomed]
                )


def newest(folder: Path, thread: str) -> CheckpointTuple | None:
    """Return the newest checkpoint in a run's SQLite file; None if there is none yet.

    Raises:
        BadCheckpoint: the file is damaged.
    """
    if not checkpoint_file(folder).exists():
        return None
    with open_checkpoints(folder) as saver:
        return saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})


def copy_newest(folder: Path, thread: str, copy: Path) -> None:
    """Write a SQLite file that holds a run's newest checkpoint alone: all that it takes to go on."""
    with closing(sqlite3.connect(checkpoint_file(folder), timeout=30)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        kept = "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ?)"  # ids begin with the time
        for table in ("writes", "checkpoints"):
            database.execute(f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_id <> {kept}", (thread, thread))
        database.execute("VACUUM")


def _superseded(newest_first: list[CheckpointTuple]) -> list[str]:
    """Return the ids to drop."""
    rounds: set[int] = set()
    doomed = []
    for place, item in enumerate(newest_first):
        number = item.checkpoint["channel_values"].get("round", 0)
        if place >= KEPT and number in rounds:
            doomed.append(item.checkpoint["id"])
        rounds.add(number)
    return doomed
