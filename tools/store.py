"""A folder of artifacts named by their content: sources, logs and reports, of which the state holds the hash."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any


class MissingArtifact(LookupError):
    """The store has no such artifact: the folder was moved or cleaned without its runs."""


class Store:
    """Content-addressed files under one folder. Writing is atomic, and writing twice does nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: str) -> Path:
        """Return where an artifact lies (it need not exist)."""
        return self.folder / sha256[:2] / sha256

    def put(self, content: str | bytes) -> str:
        """Keep text (UTF-8) or bytes and return the sha256, in hexadecimal."""
        data = content.encode() if isinstance(content, str) else content
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.path(sha256)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".new-{sha256[:16]}-{os.getpid()}")
            temporary.write_bytes(data)
            os.replace(temporary, path)
        return sha256

    def get(self, sha256: str) -> bytes:
        """Return an artifact's bytes.

        Raises:
            MissingArtifact: it is not here, or it is damaged.
        """
        path = self.path(sha256)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise MissingArtifact(f"artifact {sha256[:12]} is not in {self.folder}: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise MissingArtifact(f"artifact {path} is damaged: its content does not match its name")
        return data

    def text(self, sha256: str) -> str:
        """Return an artifact as text."""
        return self.get(sha256).decode()

    def put_json(self, value: object) -> str:
        """Keep a JSON-plain value."""
        return self.put(json.dumps(value, sort_keys=True))

    def get_json(self, sha256: str) -> Any:
        """Return an artifact that `put_json` kept."""
        return json.loads(self.get(sha256))
