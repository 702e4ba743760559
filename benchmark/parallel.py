"""Work on large arrays: in several threads, since numpy lets go of the interpreter, and in memory that is kept."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

PIECE: Final = 1 << 22
"""Elements that one thread works on at a time."""
_FROM_THE_HEAP: Final = 1 << 28
_KEPT: Final = 1 << 29
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Have this process use what it frees again, up to half a GiB, before it asks the kernel for more (glibc alone).

    Temporaries of a few MB come and go by the thousand, and new pages for each cost more than what is done in them:
    comparing 35 million elements took twice as long, on a virtual machine.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # An older glibc takes no more than 32 MiB for the first; the second alone would map every larger array anew.
    if mallopt and (mallopt(_M_MMAP_THRESHOLD, _FROM_THE_HEAP) or mallopt(_M_MMAP_THRESHOLD, 1 << 25)):
        mallopt(_M_TRIM_THRESHOLD, _KEPT)


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
