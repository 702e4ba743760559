"""Write a result folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_bundle(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Put `files` (path inside the folder → content) where `folder` is to be, in place of what was there.

    The folder is written aside and moved, so that a reader never sees half of one. `.sh` files can be executed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for stale in (*folder.parent.glob(".result-*"), *folder.parent.glob(".old-*")):  # of a process that was killed
        shutil.rmtree(stale)
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".result-"))
    new.chmod(0o755)
    for name, content in files.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if path.suffix == ".sh":
            path.chmod(0o755)
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".old-"))
        os.rename(folder, old / "result")
        os.rename(new, folder)
        shutil.rmtree(old)
    else:
        os.rename(new, folder)
