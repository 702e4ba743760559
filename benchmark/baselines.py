"""The baselines are frozen: results are comparable only while every baseline is what it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from .contract import Precision
from .registry import load_task

_FROZEN = Path(__file__).with_name("baselines.json")


def frozen_baselines() -> dict[str, str]:
    """Return the sha256 of each frozen baseline, by unit, e.g. `gelu-fp32`."""
    hashes: dict[str, str] = json.loads(_FROZEN.read_text())
    return hashes


def baseline_sha256(task_name: str, precision: Precision) -> str:
    """Return the sha256 of a baseline's source as it is now."""
    return hashlib.sha256(load_task(task_name).source(precision).encode()).hexdigest()


def freeze(names: list[str]) -> None:
    """Add the baselines of these tasks to the frozen ones. A baseline that is frozen already keeps its hash."""
    now = {f"{name}-{precision}": baseline_sha256(name, precision) for name in names for precision in Precision}
    _FROZEN.write_text(json.dumps(dict(sorted({**now, **frozen_baselines()}.items())), indent=1) + "\n")
