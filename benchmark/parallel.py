"""Work on large arrays in several threads: numpy lets go of the interpreter while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

PIECE: Final = 1 << 22
"""Elements that one thread works on at a time."""


def in_pieces(count: int, work: Callable[[int, slice], object]) -> None:
    """Call `work(number, slice)` for consecutive pieces of `count` elements, in threads if there are several.

    What a piece is does not depend on the machine, so neither do results that are drawn per piece.
    """
    pieces = [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]
    if len(pieces) < 2:
        for number, piece in enumerate(pieces):
            work(number, piece)
        return
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1, 8)) as pool:
        list(pool.map(work, range(len(pieces)), pieces))
