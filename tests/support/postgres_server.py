"""A Postgres server that is started for a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cudamaster.graph.checkpoints import POSTGRES_VARIABLE


def postgres_programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "pg_ctl").exists()), None)


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a server and return its address, which is in the environment too."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no Postgres server is installed here")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # where another user may go, which pytest's own folders forbid
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if not shutil.which("runuser"):
            pytest.skip("Postgres does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"

    def order(*command: str | Path) -> None:
        subprocess.run([*as_user, *map(str, command)], check=True, capture_output=True, timeout=60, cwd="/")

    order(programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres")
    order(programs / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")
    try:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        monkeypatch.setenv(POSTGRES_VARIABLE, url)
        yield url
    finally:
        order(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)
