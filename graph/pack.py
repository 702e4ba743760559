"""Put runs into one archive, to go on with them on another machine."""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..nodes.context import default_home
from ..tools.records import Record
from ..tools.store import Store
from .checkpoints import copy_newest, newest
from .errors import RunError
from .manifest import Manifest, locked, read_manifest, run_folder, run_ids

RESULT_SUFFIXES: Final = frozenset({".cu", ".json", ".md", ".sh", ".txt", ".cpp"})
"""Of a result folder's files that travel: what was built there and the bench's data stay behind."""

_HASH: Final = re.compile(r"[0-9a-f]{64}")


class PackInfo(Record):
    """The archive's first file, `pack.json`."""

    schema_version: int = 1
    runs: tuple[str, ...]


class Packed(Record):
    """What an archive holds."""

    runs: tuple[str, ...]
    artifacts: int
    size_bytes: int
    left: tuple[str, ...] = ()
    """Why others of the home are not in it, one line each."""


def pack(runs: Sequence[str], out: Path, *, home: Path | None = None) -> Packed:
    """Write an archive (tar, xz) of runs; without any named, of all runs of the home that can be packed.

    Of each run: manifest, newest checkpoint, journal, trace, the texts of its result, and the artifacts that its state
    names. Builds and profilers' reports stay behind: what is needed of them is made again.

    Raises:
        UnknownRun, RunBusy, BadCheckpoint: as they say.
        RunError: no runs, checkpoints in Postgres, or a file that cannot be written.
    """
    manifests, left = [], []
    for name in dict.fromkeys(runs or run_ids(home)):
        try:
            manifests.append(_packable(name, home))
        except RunError as fault:
            if runs:
                raise
            left.append(str(fault))
    if not manifests:
        raise RunError("; ".join(left) or f"no runs in {home or default_home()}: nothing to pack")
    names = tuple(manifest.run_id for manifest in manifests)
    store = Store((home or default_home()) / "artifacts")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".pack-") as scratch:
            archive = Path(scratch, "archive")
            with tarfile.open(archive, "w:xz") as tar:
                info = Path(scratch, "pack.json")
                info.write_text(PackInfo(runs=names).model_dump_json() + "\n")
                tar.add(info, "pack.json")
                artifacts: set[str] = set()
                for manifest in manifests:
                    artifacts |= _add(tar, manifest, run_folder(manifest.run_id, home), store, Path(scratch))
                for name in sorted(artifacts):
                    store.get(name)  # a damaged one is said here rather than there
                    tar.add(store.path(name), f"artifacts/{name[:2]}/{name}")
            os.replace(archive, out)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror or error}") from None
    return Packed(runs=names, artifacts=len(artifacts), size_bytes=out.stat().st_size, left=tuple(left))


def _packable(name: str, home: Path | None) -> Manifest:
    manifest = read_manifest(name, home)
    if manifest.checkpoints != "sqlite":
        raise RunError(f"run {name!r} keeps its state in Postgres: any machine that reaches it can go on there")
    return manifest


def _add(tar: tarfile.TarFile, manifest: Manifest, folder: Path, store: Store, scratch: Path) -> set[str]:
    """Add one run's own files, held still meanwhile, and return the artifacts that it needs."""
    base = f"runs/{manifest.run_id}"
    with locked(folder):
        tar.add(folder / "manifest.json", f"{base}/manifest.json")
        for path in sorted(folder.glob("journal/[!.]*")):
            tar.add(path, f"{base}/journal/{path.name}")
        for path in sorted(folder.glob("result/*")):
            if path.is_file() and path.suffix in RESULT_SUFFIXES:
                tar.add(path, f"{base}/result/{path.name}")
        if (folder / "trace.jsonl").exists():
            tar.add(folder / "trace.jsonl", f"{base}/trace.jsonl")
        needed = reachable(manifest.source, store)
        if state := newest(folder, manifest.run_id):
            copy = scratch / "checkpoint.sqlite"
            copy_newest(folder, manifest.run_id, copy)
            tar.add(copy, f"{base}/checkpoint.sqlite")
            copy.unlink()
            pending = [value for _, _, value in state.pending_writes or ()]
            needed |= reachable([state.checkpoint["channel_values"], pending], store)
    return needed


def reachable(value: Any, store: Store) -> set[str]:
    """Return the artifacts that a value names, and those that these name."""
    found: set[str] = set()
    values = [value]
    while values:
        for name in _hashes(values.pop()):
            if name not in found and store.path(name).exists():
                found.add(name)
                try:
                    values.append(store.get_json(name))
                except ValueError:  # a source or a log
                    continue
    return found


def _hashes(value: Any) -> Iterator[str]:
    """Yield what looks like an artifact's name anywhere in a JSON-plain value."""
    if isinstance(value, str) and _HASH.fullmatch(value):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _hashes(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _hashes(item)
