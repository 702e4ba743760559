"""Honest sparse products: the entries of a row in any order."""

from __future__ import annotations

from .sparse import coo, variants

VARIANTS = variants(coo)
