"""A process with a library of the cpu device: what the runtime saw besides wrong results is damage, too."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..port import CallResult
from ..runner.client import RunnerProcess
from .counters import read_counters, source_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CpuRunner(RunnerProcess):
    """A runner that names source lines in faults, and reports undefined behaviour that left the results right."""

    def __init__(self, executable: Path, library: Path, *arguments: Any, **options: Any) -> None:
        self._library = library
        super().__init__(executable, library, *arguments, **options)

    def call(self, poison: int = 0xFF, positions: Mapping[str, NDArray[np.int64]] | None = None) -> CallResult:
        """Call once; divergent barriers, bad masks and host pointers come back as damage."""
        self.reset_counters()
        result = super().call(poison, positions)
        if result.status in ("launch_error", "crash"):
            return dataclasses.replace(result, message=with_lines(result.message, self._library))
        counted = self.counters() if result.status == "ok" else {}
        if not counted or not counted["findings"]:
            return result
        seen = tuple(finding.sentence for finding in read_counters(counted, None).findings)
        return dataclasses.replace(result, damage=(*result.damage, *seen))


def with_lines(message: str, library: Path) -> str:
    """Replace addresses in the candidate by its source lines."""
    lines = source_lines(library, {int(text, 16) for text in re.findall(r"\[pc (0x[0-9a-f]+)\]", message)})

    def line(match: re.Match[str]) -> str:
        number = lines.get(int(match[1], 16))
        return f", line {number}" if number else ""

    return re.sub(r" ?\[pc (0x[0-9a-f]+)\]", line, message)
