"""The kernels of a CUDA source: names, lines and bodies, enough to say where a finding is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_KERNEL: Final = re.compile(
    r"__global__\s+(?:static\s+|inline\s+)?(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?"
    r"(?:static\s+)?void\s+(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(\w+)\s*\("
)


@dataclass(frozen=True)
class KernelSource:
    """One `__global__` function, comments and strings blanked; lines count from 1 in the whole file."""

    name: str
    line: int
    parameters: str
    body: str
    body_line: int

    def line_of(self, pattern: str) -> int | None:
        """Return the line of a pattern's first match in the body."""
        match = re.search(pattern, self.body)
        return self.body_line + self.body.count("\n", 0, match.start()) if match else None

    def uses(self, pattern: str) -> bool:
        """Say whether the body matches a pattern."""
        return re.search(pattern, self.body) is not None


def blank_comments(source: str) -> str:
    """Return the source with comments and string literals turned into spaces; every line stays where it is."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', spaces, source, flags=re.DOTALL)


@lru_cache(maxsize=32)
def kernels(source: str) -> Mapping[str, KernelSource]:
    """Return the kernels defined in a source by name (declarations are left out)."""
    text = blank_comments(source)
    found = {}
    for match in _KERNEL.finditer(text):
        closing = _closing(text, match.end() - 1, "(", ")")
        opening = text.find("{", closing)
        if closing < 0 or opening < 0 or ";" in text[closing:opening]:
            continue
        end = _closing(text, opening, "{", "}")
        if end < 0:
            continue
        found[match[1]] = KernelSource(
            name=match[1],
            line=text.count("\n", 0, match.start(1)) + 1,
            parameters=text[match.end() : closing],
            body=text[opening : end + 1],
            body_line=text.count("\n", 0, opening) + 1,
        )
    return found


def host_code(source: str) -> str:
    """Return the source with comments, strings and kernels blanked, line by line in place."""
    text = blank_comments(source)
    for kernel in kernels(source).values():
        text = text.replace(kernel.body, re.sub(r"[^\n]", " ", kernel.body), 1)
    return text


def _closing(text: str, start: int, opener: str, closer: str) -> int:
    depth = 0
    for index in range(start, len(text)):
        if text[index] == opener:
            depth += 1
        elif text[index] == closer:
            depth -= 1
            if depth == 0:
                return index
    return -1
