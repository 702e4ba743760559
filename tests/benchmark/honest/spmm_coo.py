"""Honest sparse products: the entries of a row in any order."""

from __future__ import annotations

from cudamaster.benchmark.sparse import coo

from .sparse import variants

VARIANTS = variants(coo)
