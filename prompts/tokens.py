"""How many tokens a text has, roughly, with no tokenizer at hand."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+|\n+")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text of code and English has.

    Words and runs of punctuation count one token per started six and two characters, digits one per three. An estimate:
    it is marked as such wherever it is kept.
    """
    total = 0
    for piece in _PIECE.findall(text):
        if piece[0].isalpha():
            total += (len(piece) + 5) // 6
        elif piece[0].isdigit() or piece[0] == "\n":
            total += 1
        else:
            total += (len(piece.encode()) + 1) // 2
    return total
