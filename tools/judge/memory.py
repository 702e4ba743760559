"""Can this machine make the data and the answer of a case? Asked before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...benchmark.contract import Precision
from ...benchmark.estimate import host_bytes, host_seconds
from ...benchmark.task import Case, Task
from ..device.port import Unsupported

MOST_S: Final = 900.0
"""Longer than this no case's data and answer may take to make."""


def must_fit(task: Task, case: Case, precision: Precision, *, sampled: bool) -> None:
    """Raise if a case needs more memory than the machine has free, or far too long.

    Raises:
        Unsupported: it does; the message says how much is wanted and there.
    """
    wanted, free = host_bytes(task, case, precision, sampled=sampled), available_bytes()
    if free is not None and wanted > free:
        raise Unsupported(
            f"case {case.name}: its data need about {wanted / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
        )
    if (seconds := host_seconds(task, case, sampled=sampled)) > MOST_S:
        raise Unsupported(
            f"case {case.name}: its data and its answer would take about {seconds / 60:.0f} minutes to make, at most "
            f"{MOST_S / 60:.0f} are spent on a case; take a smaller one"
        )


def available_bytes() -> int | None:
    """Return the memory that can be had without swapping, or None where the system doesn't say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
