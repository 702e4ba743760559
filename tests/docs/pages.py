"""The blocks of code in the documentation, and which of them can be run here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import cudamaster

ROOT = Path(cudamaster.__file__).parent
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "results" not in p.parts)]

_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]*?) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block. `mark` is the comment right above it: `gpu`, or `needs: …` or `not run: …` where it is not run."""

    kind: str
    text: str
    mark: str
    line: int

    @property
    def needs_gpu(self) -> bool:
        return self.mark == "gpu"

    @property
    def is_run(self) -> bool:
        return self.kind in ("console", "python") and not self.mark.startswith(("needs:", "not run:"))


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(m["kind"], m["text"], (m["mark"] or "").strip(), text.count("\n", 0, m.start("kind")) + 1)
        for m in _BLOCK.finditer(text)
    ]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))
