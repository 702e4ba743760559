"""Where a task of one's own came from: what it takes to put the winner back into the user's file."""

from __future__ import annotations

from pathlib import Path

from ..records import Record

FILE = "origin.json"
FOLDER = "original"


class Origin(Record):
    """`origin.json` of a task folder; the file itself lies beside it, in `original/`."""

    file: str
    """Its name."""
    launcher: str
    """With its namespaces."""
    template: tuple[str, ...] = ()
    """The launcher's template arguments; `T`: the element type that the precision decides."""
    storage: str = ""
    """Name of that template parameter."""
    scratch: tuple[str, ...] = ()
    """Parameters that the workspace stands for."""
    waits: bool = False
    """The launcher waited for the device before it returned."""
    check: str = ""
    """The macro with which it checked errors; empty: none."""
    changes: tuple[str, ...] = ()
    """What was changed in the copy that is compared with, one sentence each."""


def read_origin(folder: Path) -> Origin | None:
    """Return the origin of a task; None for one that was written by hand, or is the benchmark's."""
    path = folder / FILE
    return Origin.model_validate_json(path.read_bytes()) if path.is_file() else None
