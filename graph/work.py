"""Go on with every run of a home, as far as this machine can."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from .advance import Advanced, OnRun, Order, advance
from .run import list_runs

_GOES_ON = frozenset({"interrupted", "waiting_device"})
"""Statuses of a run that may go on by itself; a question stays open, and a budget is the user's to raise."""


def work(
    *,
    home: Path | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    jobs: int | None = None,
    on_run: OnRun | None = None,
) -> list[Advanced]:
    """Resume every run that was interrupted, or waits for a device that this machine has.

    Args:
        device: only runs on this one; `auto`: all.
    """
    found = [s for s in list_runs(home) if s.status in _GOES_ON and device in ("auto", s.device)]
    return advance([Order(run=summary.run) for summary in found], home=home, jobs=jobs, on_run=on_run)
