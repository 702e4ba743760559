"""The port of what runs the units of a suite: the local pool, or a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ..benchmark.task import Unit
from .suite import Suite, UnitResult


class Executor(Protocol):
    """Runs units, any number at a time."""

    def run(self, suite: Suite, units: Sequence[Unit], home: Path) -> Iterator[tuple[Unit, UnitResult | None]]:
        """Yield each unit as it ends; None: it waits for something or was stopped."""

    def stop(self) -> None:
        """Ask the running units to stop between two steps; nothing is lost."""
