"""Checkpoints on a Postgres server that is started for the test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cudamaster.graph import run
from cudamaster.graph.checkpoints import POSTGRES_VARIABLE
from cudamaster.graph.errors import RunError
from cudamaster.models.mailbox import MailboxChat
from cudamaster.nodes.context import Options

from .conftest import Bench
from .fakes import fence, plan, replies, source


def postgres_programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "pg_ctl").exists()), None)


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no Postgres server is installed here")
    folder = tmp_path_factory.mktemp("postgres")
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if not shutil.which("runuser"):
            pytest.skip("Postgres does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
        for parent in folder.parents:
            if parent.stat().st_uid == 0 and parent != Path("/") and parent != Path("/tmp"):
                parent.chmod(parent.stat().st_mode | 0o011)
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


@pytest.mark.slow
def test_a_run_pauses_goes_on_and_is_pruned_on_postgres(bench: Bench, postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="Postgres is in the extra `postgres`")
    bench.model = MailboxChat()
    order = {"home": bench.home, "run_id": "p", "checkpoints": "postgres"}
    summary = run.start("dot_product", "fp32", Options(rounds=2, model="mailbox"), **order)
    script = replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0))], planner=[plan("a"), plan("b")])
    while summary.status == "waiting_model":
        question = summary.questions[0]
        assert bench.resume("p").questions == summary.questions
        summary = bench.answer(question.id, script(question.prompt), "p")
    assert summary.status == "improved"
    assert not (bench.home / "runs/p/checkpoint.sqlite").exists()
    with psycopg.connect(postgres) as database:
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (2 + 2,)


def test_postgres_without_a_server_is_one_clear_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES_VARIABLE, raising=False)
    with pytest.raises(RunError, match=POSTGRES_VARIABLE):
        run.start("dot_product", "fp32", home=bench.home, run_id="p", checkpoints="postgres")
    monkeypatch.setenv(POSTGRES_VARIABLE, "postgresql://postgres@127.0.0.1:9/postgres")
    pytest.importorskip("psycopg", reason="Postgres is in the extra `postgres`")
    with pytest.raises(RunError, match="does not answer"):
        run.start("dot_product", "fp32", home=bench.home, run_id="q", checkpoints="postgres")
