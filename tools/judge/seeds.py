"""Seeds: fresh ones for each evaluation; for dear cases one from a secret pool, whose references are kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import tempfile
from functools import cache

from .kept import references_folder

SEED_BITS = 48
_POOL_SIZE = 2


def fresh_seed() -> int:
    """Return a seed that nobody could have known before."""
    return secrets.randbits(SEED_BITS)


def pool_seed() -> int:
    """Return one of a few seeds that only the judge knows: of this home folder, or of this process if it has none."""
    return secrets.choice(_pool())


@cache
def _pool() -> tuple[int, ...]:
    """Draw the pool, or read it back: a file for the owner's eyes, as candidates may open no files."""
    fresh = tuple(secrets.randbits(SEED_BITS) for _ in range(_POOL_SIZE))
    try:
        path = references_folder() / "pool.json"
        with contextlib.suppress(FileExistsError):
            with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".pool-") as file:
                json.dump(fresh, file)
                file.flush()
                os.link(file.name, path)
        return tuple(map(int, json.loads(path.read_text())))
    except (OSError, ValueError):
        return fresh


def derive(seed: int, *labels: object) -> int:
    """Return a seed that depends on `seed` and the labels, e.g. the case and which of its data sets."""
    digest = hashlib.sha256(repr((seed, *map(str, labels))).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> (64 - SEED_BITS)
