"""Runs a compiler on a foreign source: in a session of its own, with limits on time, memory, files and output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_MEMORY_KIB: Final = 16 << 20
_FILE_BLOCKS: Final = 512 << 11
"""512 MiB in blocks of 512 bytes."""
_LOG_BYTES: Final = 64 << 10
_LEAST_SHARE: Final = 0.4
"""A compiler that had less of a processor than this was slowed by the machine, not by the source."""
STARVED: Final = "a processor was free for it"
"""What the output says then."""


def run_limited(command: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
    """Run in a session of its own with limits; return exit code (None: too slow) and output, the middle cut if huge.

    What was too slow is told from what a busy machine hardly let run.
    """
    limited = ["/bin/sh", "-c", f'ulimit -v {_MEMORY_KIB}; ulimit -f {_FILE_BLOCKS}; exec "$@"', "sh", *command]
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            limited, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True,
        )  # fmt: skip
        code, ran = None, 0.0
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            ran = _processor_seconds(process.pid)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    data = log.read_bytes() if log.stat().st_size <= _LOG_BYTES else _ends(log)
    log.unlink()
    text = data.decode(errors="replace")
    if code is not None:
        return code, text
    starved = f"; {STARVED} for {ran:.1f} s of them" if ran < seconds * _LEAST_SHARE else ""
    return None, f"{text}\ncompiling took more than {seconds:g} s and was stopped{starved}"


def _processor_seconds(session: int) -> float:
    """Return the processor time of all processes of a session so far, those that have ended among them."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(_LOG_BYTES // 2)
        file.seek(-_LOG_BYTES // 2, os.SEEK_END)
        return head + b"\n[... cut ...]\n" + file.read()
