"""Files of records, one JSON object a line, that a measurement adds to until a kill ends it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..tools.records import Record


def append_lines(path: Path, records: Iterable[Record]) -> None:
    """Add records; what a kill left of a line stays on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:  # reads anywhere, writes at the end
        if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
            file.write(b"\n")
        for record in records:
            file.write(record.model_dump_json().encode() + b"\n")


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
