"""Where the time of an evaluation goes: named phases, noted only while somebody records."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_recording: dict[str, float] | None = None
_write = threading.Lock()
_open = threading.local()
"""The phases that this thread is in."""


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count what happens inside as this phase, within the phases that the thread is in already."""
    if _recording is None:
        yield
        return
    path: list[str] = _open.__dict__.setdefault("path", [])
    path.append(name)
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds, key = time.perf_counter() - start, "/".join(path)
        path.pop()
        with _write:
            if _recording is not None:
                _recording[key] = _recording.get(key, 0.0) + seconds


@contextmanager
def recorded_phases() -> Iterator[dict[str, float]]:
    """Record the phases of all threads: seconds by path, e.g. `time/load`, each with the phases inside it."""
    global _recording
    before, _recording = _recording, {}
    try:
        yield _recording
    finally:
        _recording = before
