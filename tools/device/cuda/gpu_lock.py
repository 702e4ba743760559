"""One measurement at a time on a GPU, with a record of who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ...phases import phase
from ..port import DeviceUnavailable


def lock_path(uuid: str) -> Path:
    """Return the lock file of a GPU: one per machine, shared by all users and homes."""
    return Path(tempfile.gettempdir()) / f"cudamaster-gpu-{uuid or 'unknown'}.lock"


def owner_of(path: Path) -> str:
    """Say who took the lock last."""
    try:
        owner = json.loads(path.read_text())
        seconds = max(0.0, time.time() - float(owner["since"]))
        return f"process {owner['pid']} on {owner['host']} ({owner['what']}) since {seconds:.0f} s"
    except (OSError, ValueError, KeyError, TypeError):
        return "an unknown process"


def start_lock(uuid: str) -> contextlib.AbstractContextManager[None]:
    """Be the only one that starts a process on this GPU. Somebody else may measure meanwhile.

    Making a context takes the driver half a second, in which all that others ask of it waits: of several at once each
    takes longer than all of them in turn, and a measurement beside them is slowed with them.
    """
    return gpu_lock(f"{uuid or 'unknown'}-start", "starting a process")


_POLL_S = 0.01

_held = threading.local()
"""Locks of this thread, so that what it does while it holds a GPU may ask for it again."""


def _take(fd: int, path: Path, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            raise DeviceUnavailable(
                f"the GPU was held for {wait_s:g} s by {owner_of(path)}: wait for it or end it ({path})"
            )
        time.sleep(_POLL_S)


@contextlib.contextmanager
def gpu_lock(uuid: str, what: str, wait_s: float = 600.0) -> Iterator[None]:
    """Hold the GPU for a measurement. The kernel frees the lock when its holder ends, however it ends.

    Raises:
        DeviceUnavailable: somebody else held it for `wait_s`; the message names the owner.
    """
    path = lock_path(uuid)
    mine: set[Path] = _held.__dict__.setdefault("paths", set())
    if path in mine:
        yield
        return
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # in a sticky folder a hardened kernel refuses O_CREAT on another user's file
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with contextlib.suppress(OSError):
        os.fchmod(fd, 0o666)
    try:
        with phase("wait"):
            _take(fd, path, wait_s)
        record = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), "what": what}
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(record).encode(), 0)
        mine.add(path)
        yield
    finally:
        mine.discard(path)
        os.close(fd)
