"""Seeds: fresh ones for each evaluation, and a small secret pool for cases whose reference is dear."""

from __future__ import annotations

import hashlib
import secrets

SEED_BITS = 48


def fresh_seed() -> int:
    """Return a seed that nobody could have known before."""
    return secrets.randbits(SEED_BITS)


def derive(seed: int, *labels: object) -> int:
    """Return a seed that depends on `seed` and the labels, e.g. the case and which of its data sets."""
    digest = hashlib.sha256(repr((seed, *map(str, labels))).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> (64 - SEED_BITS)
