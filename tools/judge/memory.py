"""Will the data of a case fit into this machine? Asked before they are made."""

from __future__ import annotations

from pathlib import Path

from ...benchmark.contract import Precision
from ...benchmark.task import Case, Task
from ..device.port import Unsupported


def host_bytes(task: Task, case: Case, precision: Precision, *, sampled: bool) -> int:
    """Estimate the memory that a case's data and answer need at their peak, bytes.

    Inputs exist as drawn (8 bytes an element), as stored, and as numbers again; a whole answer has value, bound and as
    much again in between.
    """
    inputs = sum(
        a.elements(case.sizes) * (16 + a.dtype.resolve(precision).itemsize)
        for a in task.contract.inputs
        if a.name not in case.null
    )
    return inputs + sum(a.elements(case.sizes) * (4 if sampled else 40) for a in task.contract.outputs)


def must_fit(task: Task, case: Case, precision: Precision, *, sampled: bool) -> None:
    """Raise if a case needs more memory than the machine has free.

    Raises:
        Unsupported: it does; the message says how much is wanted and there.
    """
    wanted, free = host_bytes(task, case, precision, sampled=sampled), available_bytes()
    if free is not None and wanted > free:
        raise Unsupported(
            f"case {case.name}: its data need about {wanted / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
        )


def available_bytes() -> int | None:
    """Return the memory that can be had without swapping, or None where the system doesn't say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
