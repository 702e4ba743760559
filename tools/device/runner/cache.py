"""Things that are built once and kept, found again by the hash of what went into them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def builds_folder() -> Path:
    """Return the folder of built things: `builds/` under `$CUDAMASTER_HOME`, by default `.cudamaster`."""
    return Path(os.environ.get("CUDAMASTER_HOME") or ".cudamaster").absolute() / "builds"


def content_key(*parts: str | bytes) -> str:
    """Return a sha256 over these parts, each with its length, so that no two lists of parts collide."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def cached(key: str, make: Callable[[Path], None], root: Path | None = None) -> Path:
    """Return the folder for `key`, made once: `make` fills a temporary folder, which a rename then puts in place.

    Callers of the same key wait for the first; its lock goes with its process, so a killed build blocks nobody.
    If `make` raises, nothing is kept.
    """
    root = root or builds_folder()
    final = root / key
    if final.is_dir():
        return final
    locks = root / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / key).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.is_dir():
            return final
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
        try:
            make(fresh)
            fresh.chmod(0o755)
            fresh.replace(final)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return final
