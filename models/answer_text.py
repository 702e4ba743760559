"""The outer form of an answer: reasoning in tags, and code fences."""

from __future__ import annotations

import re
from typing import Final

from ..tools.records import Record

_TAG: Final = r"(?:think|thinking|reasoning|thought|scratchpad)"


def strip_reasoning(text: str) -> str:
    """Return text without reasoning in tags such as `<think>…</think>`; either tag of a pair may be missing."""
    text = re.sub(rf"<({_TAG})>.*?</\1>", "", text, flags=re.S | re.I)
    if closings := list(re.finditer(rf"</{_TAG}>", text, re.I)):
        text = text[closings[-1].end() :]
    return re.sub(rf"\A\s*<{_TAG}>.*", "", text, flags=re.S | re.I)


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
