"""What keeps a candidate's process apart from the rest of the machine, and what of it this kernel does not allow."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from .cache import builds_folder

_SAYS: Final = {
    "system_calls": "system calls that reach outside are refused",
    "user": "a user namespace without capabilities",
    "pid": "a pid namespace",
    "network": "a network namespace",
    "read_only": "all files but its own folder's read-only",
    "processes_hidden": "other processes hidden",
}


@dataclass(frozen=True)
class Isolation:
    """Which walls stand around one process. Its own session, limits and a scrubbed environment it always has."""

    system_calls: bool = False
    user: bool = False
    pid: bool = False
    network: bool = False
    read_only: bool = False
    processes_hidden: bool = False
    refused: str = ""
    """What the kernel did not allow, and why, in its words."""

    @classmethod
    def read(cls, reply: Mapping[str, Any]) -> Isolation:
        """Return what the host program reports."""
        return cls(**{field.name: reply[field.name] for field in fields(cls) if field.name in reply})

    @property
    def missing(self) -> tuple[str, ...]:
        """The walls that are not there."""
        return tuple(says for name, says in _SAYS.items() if not getattr(self, name))

    def __str__(self) -> str:
        """One line: complete, or what is missing and why."""
        if not self.missing:
            return "isolated: " + ", ".join(_SAYS.values())
        why = f" ({self.refused})" if self.refused else ""
        return f"not fully isolated on this machine, missing: {', '.join(self.missing)}{why}"


def hidden_folders() -> tuple[Path, ...]:
    """Return the folders that no candidate may look into: all of the home folder but the builds, answers among them."""
    builds = builds_folder()
    with contextlib.suppress(OSError):
        return tuple(sorted(path for path in builds.parent.iterdir() if path.is_dir() and path != builds))
    return ()


def sender(channel: socket.socket, timeout_s: float) -> int | None:
    """Return the process id, as seen from here, of who sent what waits in a socket; None if nothing comes in time.

    `announce_senders` must have been called before it was sent.
    """
    size = struct.calcsize("3i")
    channel.settimeout(timeout_s)
    with contextlib.suppress(OSError):
        _, messages, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(size), socket.MSG_PEEK)
        for level, kind, data in messages:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return int(struct.unpack("3i", data[:size])[0])
    return None


def announce_senders(channel: socket.socket) -> None:
    """Have the kernel say who sends: a process in a pid namespace doesn't know its own number."""
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
