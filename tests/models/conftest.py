from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cudamaster.models.budget import Budget
from cudamaster.models.journal import Journal

from ..support.fake_openai import FakeOpenAI

STEP = "001.00.planner.0"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine's: only a key."""
    for name in os.environ:
        if (
            name.startswith(("OPENAI_", "CUDAMASTER_", "LANGSMITH_", "LANGCHAIN_"))
            or name.endswith("_API_KEY")
            or name.lower().endswith("_proxy")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "key")


@pytest.fixture(scope="session")
def one_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def server(one_server: FakeOpenAI) -> FakeOpenAI:
    """A server with an empty script. Its address stays, so the clients' connection pool is made once."""
    one_server.reset()
    return one_server


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def budget() -> Budget:
    return Budget()
