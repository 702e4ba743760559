"""What must be known of a run before its first step, and the lock that keeps it to one process."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from ..benchmark.contract import Precision
from ..nodes.context import Context, Options, default_home
from ..tools.records import Record
from .checkpoints import Kind
from .errors import HomeNotWritable, RunBusy, RunError, UnknownRun

RUN_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Manifest(Record):
    """A run as it was ordered: `runs/<id>/manifest.json`."""

    schema_version: int = 1
    run_id: str
    task: str
    precision: Precision
    source: str = ""
    """Artifact: the user's own kernel to start from; empty: the task's baseline."""
    source_name: str = ""
    """Its file name, for the report."""
    options: Options
    checkpoints: Kind = "sqlite"
    graph_version: str
    task_sha256: str
    created: str
    """UTC, ISO 8601."""
    forked_from: str = ""
    """Run and round that it was copied from, `RUN@ROUND`; empty: it began at the beginning."""

    @property
    def unit(self) -> str:
        """Name of the unit, e.g. `dot_product-fp32`."""
        return f"{Path(self.task).name}-{self.precision}"


def read_options(values: Mapping[str, Any]) -> Options:
    """Return options from what a person or a program gave.

    Raises:
        RunError: one is unknown or wrong.
    """
    if unknown := sorted(set(values) - set(Options.model_fields)):
        raise RunError(f"unknown option {unknown[0]!r}: there are {', '.join(sorted(Options.model_fields))}")
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        fault = error.errors()[0]
        raise RunError(f"option {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None


def check_run_id(run_id: str, what: str = "run id") -> str:
    """Return the id, or say what one looks like.

    Raises:
        RunError: it is not one.
    """
    if not RUN_ID.fullmatch(run_id):
        raise RunError(f"{what} {run_id!r}: use a-z, 0-9, '.', '_' and '-', at most 64, the first a letter or digit")
    return run_id


def id_part(name: str) -> str:
    """Return a unit's name as a part of a run's id: what an id cannot hold becomes `-`."""
    return re.sub(r"[^a-z0-9._-]", "-", name.lower()).lstrip("._-")


def run_folder(run_id: str, home: Path | None = None) -> Path:
    """Return the folder of a run."""
    return (home or default_home()) / "runs" / check_run_id(run_id)


def run_ids(home: Path | None = None) -> list[str]:
    """Return the ids of all runs of a home, oldest first."""
    manifests = (home or default_home()).glob("runs/*/manifest.json")
    return [path.parent.name for path in sorted(manifests, key=lambda path: path.stat().st_mtime)]


def write_json(path: Path, record: Record) -> None:
    """Write a record by rename and flush it, so that a reader sees the old file or the new one, whole."""
    temporary = path.with_name(f".new-{os.getpid()}")
    try:
        with open(temporary, "w") as file:
            file.write(record.model_dump_json(indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        error.filename = str(path)  # the file that was asked for
        raise


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write the manifest of a run."""
    write_json(folder / "manifest.json", manifest)


def read_manifest(run_id: str, home: Path | None = None) -> Manifest:
    """Read the manifest of a run.

    Raises:
        UnknownRun: there is none.
        RunError: it cannot be read.
    """
    path = run_folder(run_id, home) / "manifest.json"
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UnknownRun(
            f"no run {run_id!r} in {home or default_home()}: `cudamaster runs` lists those that are"
        ) from None
    except (OSError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise RunError(f"{path} cannot be read ({reason}): start the unit again under another run id") from None


def make_folder(folder: Path) -> None:
    """Create the folder of a run.

    Raises:
        HomeNotWritable: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise HomeNotWritable(
            f"{folder} cannot be written ({error.strerror}): give a folder of yours with --home or CUDAMASTER_HOME"
        ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run for this process; the kernel lets go of it when the process ends, however it ends.

    Raises:
        RunBusy: another process holds it.
    """
    with open(folder / "lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunBusy(f"run {folder.name!r} is being advanced by {_owner(file.read())}") from None
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now()}))
        file.flush()
        yield


def is_locked(folder: Path) -> bool:
    """Tell whether a process holds the run."""
    try:
        with open(folder / "lock") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _owner(text: str) -> str:
    try:
        owner = json.loads(text)
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def context_of(manifest: Manifest, home: Path | None = None) -> Context:
    """Return the context of a run, from its manifest."""
    return Context(home=str(home or default_home()), run_id=manifest.run_id, **dict(manifest.options))
