"""Take runs out of an archive into a home, without harm to what is there."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from ..nodes.context import default_home
from ..tools.records import Record
from ..tools.store import Store
from .checkpoints import checkpoint_file, newest
from .errors import BadArchive, RunError
from .manifest import locked, make_folder, read_manifest, run_folder
from .pack import PackInfo

MOST_BYTES: Final = 4 << 30
"""Of all files together: an archive that grows beyond it is refused."""

_MEMBER: Final = re.compile(
    r"pack\.json|artifacts/[0-9a-f]{2}/[0-9a-f]{64}"
    r"|runs/[a-z0-9][a-z0-9._-]{0,63}/(manifest\.json|checkpoint\.sqlite|trace\.jsonl|(journal|result)/[A-Za-z0-9][\w.-]*)"
)
"""The only paths that an archive may hold."""


class Unpacked(Record):
    """What became of one run: `new`, `advanced` (the one here was behind), `same`, `kept` (the one here is ahead), or
    `refused` (both went on, each its own way)."""

    run: str
    outcome: Literal["new", "advanced", "same", "kept", "refused"]
    reason: str = ""


def unpack(archive: Path, *, home: Path | None = None) -> list[Unpacked]:
    """Put an archive's runs into the home. A run here that is ahead of the packed one, or went another way, stays.

    Killed at any instant, it can be done again.

    Raises:
        BadArchive: no archive of runs, damaged, or with anything in it that does not belong there. Nothing was done.
        RunBusy: a run here is being advanced.
        HomeNotWritable: as it says.
    """
    home = home or default_home()
    make_folder(home / "runs")
    for stale in home.glob(".unpack-*"):  # of a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".unpack-") as scratch:
        aside = Path(scratch)
        runs = _extract(archive, aside)
        with ExitStack() as stack:
            for name in runs:
                if run_folder(name, home).exists():
                    stack.enter_context(locked(run_folder(name, home)))
            outcomes = [_compare(name, aside, home) for name in runs]
            store = Store(home / "artifacts")
            for path in aside.glob("artifacts/*/*"):
                store.put(path.read_bytes())
            for item in outcomes:
                if item.outcome in ("new", "advanced"):
                    _move(aside / "runs" / item.run, run_folder(item.run, home))
    return outcomes


def _extract(archive: Path, aside: Path) -> tuple[str, ...]:
    """Write the archive's files under `aside`, each checked, and return its runs."""
    left = MOST_BYTES
    try:
        with tarfile.open(archive, "r:xz") as tar:
            for member in tar:
                if not member.isreg() or not _MEMBER.fullmatch(member.name):
                    raise BadArchive(f"{archive} holds {member.name!r}, which is none of a run's files: refused whole")
                left -= member.size
                if left < 0:
                    raise BadArchive(f"{archive} holds more than {MOST_BYTES >> 30} GiB: refused whole")
                file = tar.extractfile(member)
                assert file is not None
                data = file.read()
                path = aside / member.name
                if member.name.startswith("artifacts/") and hashlib.sha256(data).hexdigest() != path.name:
                    raise BadArchive(f"{archive} is damaged: {member.name} does not match its name")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                os.utime(path, (member.mtime, member.mtime))
        runs = tuple(dict.fromkeys(PackInfo.model_validate_json((aside / "pack.json").read_bytes()).runs))
        for name in runs:
            if read_manifest(name, aside).run_id != name:
                raise BadArchive(f"{archive} is damaged: the manifest of run {name!r} is of another run")
            newest(aside / "runs" / name, name)
    except BadArchive:
        raise
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValidationError, RunError) as error:
        raise BadArchive(f"{archive} is no archive of `cudamaster pack`, or damaged: {_line(error)}") from None
    except OSError as error:
        raise BadArchive(f"{archive} cannot be read: {error.strerror or error}") from None
    return runs


def _compare(name: str, aside: Path, home: Path) -> Unpacked:
    """Say how a packed run and the one of that name here stand to each other."""
    here, there = run_folder(name, home), run_folder(name, aside)
    if not (here / "manifest.json").exists():
        return Unpacked(run=name, outcome="new")
    ours, theirs = read_manifest(name, home), read_manifest(name, aside)
    if (ours.created, ours.task_sha256, ours.precision) != (theirs.created, theirs.task_sha256, theirs.precision):
        why = f"another run has the id {name!r} here: unpack into a home of its own"
        return Unpacked(run=name, outcome="refused", reason=why)
    known, packed = _progress(here, name), _progress(there, name)
    if known == packed:
        return Unpacked(run=name, outcome="same")
    if known[0] <= packed[0] and known[1].items() <= packed[1].items():
        return Unpacked(run=name, outcome="advanced")
    if packed[0] <= known[0] and packed[1].items() <= known[1].items():
        return Unpacked(run=name, outcome="kept", reason="the one here is ahead of the packed one")
    why = "the run went on here and there, each its own way: nothing is overwritten; unpack into a home of its own"
    return Unpacked(run=name, outcome="refused", reason=why)


def _progress(folder: Path, name: str) -> tuple[int, dict[str, str]]:
    """Return how many steps a run has done, and its replies (file → hash): of two, the one ahead has all of them."""
    state = newest(folder, name)
    step = int(state.metadata.get("step", -1)) if state else -2
    replies = sorted(folder.glob("journal/[!.]*.reply.json"))
    return step, {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in replies}


def _move(new: Path, folder: Path) -> None:
    """Put a run where it belongs: whole if it is new, else file by file, its checkpoint last but for the manifest."""
    if not (folder / "manifest.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)
        return
    order = {"checkpoint.sqlite": 1, "manifest.json": 2}
    for path in sorted((p for p in new.rglob("*") if p.is_file()), key=lambda p: order.get(p.name, 0)):
        target = folder / path.relative_to(new)
        target.parent.mkdir(exist_ok=True)
        if path.name == checkpoint_file(new).name:  # what the old one left beside it is not the new one's
            for suffix in ("-wal", "-shm"):
                target.with_name(target.name + suffix).unlink(missing_ok=True)
        os.replace(path, target)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
