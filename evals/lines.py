"""Files of records, one JSON object a line, that a measurement adds to until a kill ends it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..tools.records import Record


def append_lines(path: Path, records: Iterable[Record]) -> None:
    """Add records; what a kill left of a line stays on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("a") as file:
        file.write("\n" * cut + "".join(record.model_dump_json() + "\n" for record in records))


def read_lines(path: Path) -> list[Any]:
    """Return what the lines hold; none if there is no file. A line that was cut short counts as none.

    A file that is kept may be compressed (`.gz`).
    """
    data = path.read_bytes() if path.is_file() else b""
    found = []
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
