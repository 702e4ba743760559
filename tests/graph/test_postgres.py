"""Checkpoints on a Postgres server that is started for the test."""

from __future__ import annotations

import pytest
from cudamaster.graph import run
from cudamaster.graph.checkpoints import POSTGRES_VARIABLE
from cudamaster.graph.errors import RunError
from cudamaster.models.mailbox import MailboxChat
from cudamaster.nodes.context import Options

from ..support.postgres_server import postgres
from .conftest import Bench
from .fakes import fence, plan, replies, source

__all__ = ["postgres"]


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
