"""Calls for a worker's process to carry out, in a module that it can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from langgraph.runtime import RunControl


def double(value: int, control: RunControl) -> tuple[int, int]:
    return 2 * value, os.getpid()


def fill(mebibytes: int, control: RunControl) -> int:
    return len(bytearray(b"x") * (mebibytes << 20)) and os.getpid()


def die(control: RunControl) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(control: RunControl) -> None:
    raise RuntimeError("a bug")


def visible(meet: Path, all_of_them: int, control: RunControl) -> str:
    """Return what this process sees, as soon as so many processes have met."""
    (meet / str(os.getpid())).touch()
    while len(list(meet.iterdir())) < all_of_them:
        time.sleep(0.005)
    return os.environ["CUDA_VISIBLE_DEVICES"]


def drain(mark: Path, control: RunControl) -> str:
    mark.touch()
    while not control.drain_requested:
        time.sleep(0.005)
    return "drained"
