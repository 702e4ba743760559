"""The outer form of an answer: reasoning in tags, and code fences."""

from __future__ import annotations

import re
from typing import Final

from ..tools.records import Record

_TAG: Final = re.compile(r"<(/?)(?:think|thinking|reasoning|thought|scratchpad)>", re.I)


def strip_reasoning(text: str) -> str:
    """Return text without reasoning in tags such as `<think>…</think>`; either tag of a pair may be missing."""
    kept, position, opened = "", 0, -1
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened < 0 else opened
            continue
        # A closing tag alone: the opening one was part of the prompt's end, so all before it is reasoning.
        kept = kept + text[position:opened] if opened >= 0 else ""
        position, opened = tag.end(), -1
    if opened >= 0 and not (kept + text[position:opened]).strip():
        return ""
    return kept + text[position:]


class Block(Record):
    """One fenced code block."""

    language: str
    text: str
    closed: bool


_FENCE: Final = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`\n]*$")


def code_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a text in order, those nested in another block after it.

    A fence that is never closed runs to the end of the text; a fence with a language inside a block opens a nested one.
    """
    blocks: list[Block] = []
    fence, language, lines, depth, nested = "", "", list[str](), 0, False

    def finish(closed: bool) -> None:
        content = "\n".join(lines)
        blocks.append(Block(language=language, text=content, closed=closed))
        if nested:
            blocks.extend(code_blocks(content))

    for line in text.splitlines():
        mark = _FENCE.match(line)
        if not fence:
            if mark:
                fence, language, lines, depth, nested = mark[1], mark[2].lower(), [], 0, False
            continue
        if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            if mark[2]:
                depth, nested = depth + 1, True
            elif depth:
                depth -= 1
            else:
                finish(closed=True)
                fence = ""
                continue
        elif mark:
            nested = True
        lines.append(line)
    if fence:
        finish(closed=False)
    return blocks


def has_fence(text: str) -> bool:
    """Return whether a text has a line that opens or closes a code fence."""
    return any(_FENCE.match(line) for line in text.splitlines())
