"""Work on large arrays in several threads: numpy lets go of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

PIECE: Final = 1 << 22
"""Elements that one thread works on at a time."""


def in_pieces(count: int, work: Callable[[int, slice], object], piece: int = 0) -> None:
    """Call `work(number, slice)` for consecutive pieces of `count` elements, in threads if there are several.

    `piece`: elements of each, by default `PIECE`.

    What a piece is does not depend on the machine, so neither do results that are drawn per piece.
    """
    piece = piece or PIECE
    pieces = [slice(start, min(start + piece, count)) for start in range(0, count, piece)]
    if len(pieces) < 2:
        for number, one in enumerate(pieces):
            work(number, one)
        return
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1, 8)) as pool:
        list(pool.map(work, range(len(pieces)), pieces))
