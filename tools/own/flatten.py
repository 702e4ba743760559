"""One text out of a file and the headers of its project: local includes in place, macros of the command line on top."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..judge.code import code_only
from .errors import NotATask

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*\n?", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(\w*)", re.MULTILINE)


def flatten(source: Path, *, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None) -> str:
    """Return the file's text with its local headers in their places, each once, and `defines` as macros on top.

    A header in quotes is looked for beside the file that includes it, then in the `include` folders; one in angle
    brackets in these folders alone. What is not found there stays as it is: the toolkit's or the system's.

    Raises:
        NotATask: a file cannot be read.
    """
    seen: set[Path] = set()
    macros = "".join(f"#define {name} {value}\n".replace(" \n", "\n") for name, value in (defines or {}).items())
    return macros + _expand(source, [folder.resolve() for folder in include], seen)


def read_file(file: Path) -> str:
    """Return the text of a file of the user's, its lines ended by `\\n`, without a byte order mark.

    Raises:
        NotATask: it cannot be read.
    """
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise NotATask(f"{file} cannot be read: {reason}") from None


def _expand(file: Path, include: Sequence[Path], seen: set[Path]) -> str:
    text = read_file(file)
    seen.add(file.resolve())
    visible = code_only(text)  # an include in a comment is none

    def put(match: re.Match[str]) -> str:
        if not visible[match.start() : match.end()].lstrip().startswith("#"):
            return match[0]
        quoted, angled = match[1], match[2]
        folders = ([file.parent] if quoted else []) + list(include)
        found = next(
            (folder / (quoted or angled) for folder in folders if (folder / (quoted or angled)).is_file()), None
        )
        if found is None:
            return match[0]
        if found.resolve() in seen:
            return ""
        inner = _unguarded(_expand(found, include, seen)).strip("\n")
        return f"// --- from {quoted or angled}\n{inner}\n// --- end of {quoted or angled}"

    return _INCLUDE.sub(put, text)


def _unguarded(text: str) -> str:
    """Return a header without its include guard: it is here once."""
    text = _ONCE.sub("", text)
    found = list(_DIRECTIVE.finditer(code_only(text)))
    if len(found) < 3:
        return text
    first, second, last = found[0], found[1], found[-1]
    guards = first[1] == "ifndef" and second[1] == "define" and first[2] == second[2] and last[1] == "endif"
    if not guards or (text[: first.start()].strip() and code_only(text[: first.start()]).strip()):
        return text
    depth = 0
    for directive in found[:-1]:  # the last #endif must close the first #ifndef
        depth += directive[1] in ("if", "ifdef", "ifndef")
        depth -= directive[1] == "endif"
        if depth == 0:
            return text
    cut = [_whole_line(text, m.start()) for m in (first, second, last)]
    for start, end in reversed(cut):
        text = text[:start] + text[end:]
    return text


def _whole_line(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end + 1
