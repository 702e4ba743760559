"""What goes wrong in sparse products."""

from __future__ import annotations

from ..honest.sparse import csc
from ..sparse_mistakes import mistakes

MISTAKES = mistakes(csc)
