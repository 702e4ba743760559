"""Seeds: fresh ones for each evaluation; for dear cases one from a secret pool, whose references are kept."""

from __future__ import annotations

import hashlib
import secrets

SEED_BITS = 48
_POOL = tuple(secrets.randbits(SEED_BITS) for _ in range(3))
"""Lives in this process only: no candidate can know it."""


def fresh_seed() -> int:
    """Return a seed that nobody could have known before."""
    return secrets.randbits(SEED_BITS)


def pool_seed() -> int:
    """Return one of a few seeds that only this process knows."""
    return secrets.choice(_POOL)


def derive(seed: int, *labels: object) -> int:
    """Return a seed that depends on `seed` and the labels, e.g. the case and which of its data sets."""
    digest = hashlib.sha256(repr((seed, *map(str, labels))).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> (64 - SEED_BITS)
