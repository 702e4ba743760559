"""What a run's checkpoint, journal and trace tell of it, without advancing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from ..nodes.context import Context
from ..nodes.state import State
from .build import build_graph
from .checkpoints import open_checkpoints
from .manifest import Manifest, context_of, read_manifest


def read_state(run_id: str, home: Path | None = None) -> tuple[Manifest, Context, State]:
    """Return a run's manifest and context, and its state after its last finished node (empty before the first).

    Raises:
        UnknownRun, BadCheckpoint, RunError: as they say.
    """
    manifest = read_manifest(run_id, home)
    context = context_of(manifest, home)
    with open_checkpoints(context.folder, kind=manifest.checkpoints) as saver:
        snapshot = build_graph(saver).get_state({"configurable": {"thread_id": run_id}})
    return manifest, context, cast("State", snapshot.values)


def read_trace(run_folder: Path) -> list[dict[str, Any]]:
    """Return the steps in a run's `trace.jsonl`, oldest first; a line that a kill cut short is left out."""
    steps = []
    try:
        lines = (run_folder / "trace.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            steps.append(json.loads(line))
        except ValueError:
            continue
    return steps
