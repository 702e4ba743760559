"""Data and answers of dear cases on disk, so that the next evaluation of a unit needn't make them again.

They lie under `references/` in the home folder, for its owner alone. Only those of the secret pool of seeds are kept:
small and hidden cases get fresh seeds each time. When they grow too many, the least recently used go first.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ... import benchmark
from ...benchmark.task import Expected
from ..device.runner.cache import builds_folder, cached, content_key

if TYPE_CHECKING:
    from .reference import Instance, Key

_MOST_BYTES = 12 << 30
_MOST_OF_FREE = 0.25
"""At most this share of what is free on the disk."""
_writer = ThreadPoolExecutor(1)
_writing: list[Future[None]] = []


def references_folder() -> Path:
    """Return the folder, made for its owner alone."""
    folder = builds_folder().parent / "references"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def kept_on_disk(key: Key, make: Callable[[], Instance]) -> Instance:
    """Return the instance for `key`: from disk if it is there, else made, and written meanwhile where there is room."""
    name = content_key("instance", _shared_code(), *map(str, key))
    with contextlib.suppress(OSError):  # a file that another process removed just now
        folder = references_folder() / name
        if folder.is_dir():
            os.utime(folder)
            return _read(folder)
    made = make()
    _writing.append(_writer.submit(_keep, made, name))
    return made


@functools.cache
def _shared_code() -> str:
    """Return a hash of what all tasks draw and bound with: the key of an instance names its task's own files alone."""
    return content_key(*(path.read_bytes() for path in sorted(Path(benchmark.__file__).parent.glob("*.py"))))


def finish_writing() -> None:
    """Wait until everything that was made is on disk; the end of the process waits by itself."""
    while _writing:
        _writing.pop().result()


def _keep(made: Instance, name: str) -> None:
    def write(fresh: Path) -> None:
        _room_for(made.nbytes)
        _write(made, fresh)

    with contextlib.suppress(OSError):  # no room
        cached(name, write, references_folder())


def _write(made: Instance, folder: Path) -> None:
    for name, array in made.memory.items():
        np.save(folder / f"{name}.memory.npy", array)
    for name, expected in made.expected.items():
        for part in ("value", "bound", "positions"):
            if (array := getattr(expected, part)) is not None:
                np.save(folder / f"{name}.{part}.npy", array)


def _read(folder: Path) -> Instance:
    from .reference import Instance

    parts: dict[str, dict[str, np.ndarray]] = {}
    for path in sorted(folder.glob("*.npy")):
        name, part = path.name.removesuffix(".npy").rsplit(".", 1)
        parts.setdefault(part, {})[name] = np.load(path, mmap_mode="r")
    bounds, positions = parts.get("bound", {}), parts.get("positions", {})
    expected = {n: Expected(v, bounds.get(n), positions.get(n)) for n, v in parts["value"].items()}
    return Instance(parts.get("memory", {}), expected)


def _room_for(wanted: int) -> None:
    """Remove what was used least recently until `wanted` bytes fit.

    Raises:
        OSError: they never will.
    """
    root = references_folder()
    known = {
        folder: sum(file.stat().st_size for file in folder.iterdir())
        for folder in sorted(root.iterdir(), key=_last_use)
        if folder.is_dir() and not folder.name.startswith(".")
    }
    held = sum(known.values())
    most = min(_MOST_BYTES, int(_MOST_OF_FREE * (shutil.disk_usage(root).free + held)))
    if wanted > most:
        raise OSError(f"{wanted} bytes are more than the {most} that may be kept")
    for folder, count in known.items():
        if held + wanted <= most:
            return
        shutil.rmtree(folder, ignore_errors=True)
        held -= count


def _last_use(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return folder.stat().st_mtime
    return 0.0
