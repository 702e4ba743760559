"""What goes wrong in sparse products."""

from __future__ import annotations

from cudamaster.benchmark.sparse import coo

from ..sparse_mistakes import mistakes

MISTAKES = mistakes(coo)
