"""Whole runs over HTTP with an endpoint that fails in every way: no fault loses a run, none pays twice."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from cudamaster.graph.errors import ModelRefused
from cudamaster.models.factory import chat_model
from cudamaster.models.journal import Journal
from cudamaster.models.retry import Patience

from ..support.fake_openai import FakeOpenAI, Turn
from .conftest import Bench
from .fakes import agent_of, fence, plan, source

WAITED_OUT: tuple[Turn, ...] = (
    {"status": 429, "error": "Rate limit reached", "headers": {"Retry-After": "20"}},
    {"status": 408},
    {"status": 500},
    {"status": 503, "body": "<html>Service Unavailable</html>"},
    {"drop": True},
    {"body": "<html>"},
    {"body": '{"choices": [], "model": "m"}'},
    {"body": '{"error": {"message": "overloaded", "code": 503}}'},
)
STOPS: tuple[Turn, ...] = (
    {"status": 401, "error": "Incorrect API key provided"},
    {"status": 402, "error": "Payment required"},
    {"status": 429, "error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
    {"status": 404, "error": "no such model"},
    {"status": 400, "error": {"message": "too long", "code": "context_length_exceeded"}},
)
UNREADABLE: tuple[Turn, ...] = (
    {"content": ""},
    {"content": "I would rather not say."},
    {"content": "```cuda\n// ...", "finish_reason": "length"},
    {"content": "", "reasoning_content": "all of it is thought"},
    {"content": "<think>for ever"},
)


def good(prompt: str) -> str:
    """Return a right answer of the agent that is asked."""
    return {
        "planner": plan("strategy"),
        "coder": fence(source("pass", 2.0)),
        "compiler": "{}",
        "debugger": "Diagnosis: d\n" + fence(source("pass", 2.0)),
    }[agent_of(prompt)]


@pytest.fixture
def server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A server that the bench's runs ask, with waits that take no time."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setattr("cudamaster.models.ask.Patience", lambda: Patience(sleep=lambda seconds: None))
    with FakeOpenAI() as fake:
        bench.model = chat_model("openai:m", base_url=fake.url, timeout_s=10.0)
        yield fake


def finish(bench: Bench, rounds: int) -> int:
    """Start the run and resume it until it has ended; return how often it had to be resumed."""
    for resumed in range(200):
        try:
            summary = bench.start(rounds=rounds) if resumed == 0 else bench.resume()
        except ModelRefused:
            continue
        if summary.status != "waiting_model":
            assert summary.status == "improved"
            return resumed
    raise AssertionError("it never ends")


def each_once(server: FakeOpenAI, faults: tuple[Turn, ...]) -> None:
    """Let the server answer with each fault once, and with a good answer after each."""
    turns = iter([turn for fault in faults for turn in (fault, None)])
    server.reply = lambda prompt: next(turns, None) or {"content": good(prompt)}


def test_faults_that_pass_are_waited_out(bench: Bench, server: FakeOpenAI) -> None:
    each_once(server, WAITED_OUT)
    assert finish(bench, rounds=3) == 0
    assert server.answered == 9, "three agents in three rounds"
    assert len(server.requests) == 9 + len(WAITED_OUT)


def test_faults_that_stop_the_run_cost_nothing(bench: Bench, server: FakeOpenAI) -> None:
    each_once(server, STOPS)
    assert finish(bench, rounds=2) == len(STOPS)
    assert server.answered == 6, "each question is paid once"
    assert len(server.requests) == 6 + len(STOPS)


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(bench: Bench, server: FakeOpenAI) -> None:
    each_once(server, UNREADABLE)
    assert finish(bench, rounds=2) == 0
    asked = [request["messages"][0]["content"] for request in server.requests]
    assert len(asked) == 6 + len(UNREADABLE)
    assert ["## Your previous answer" in prompt for prompt in asked] == [False, True] * len(UNREADABLE) + [False]


@pytest.mark.parametrize("seed", range(2))
def test_everything_at_once(bench: Bench, server: FakeOpenAI, seed: int) -> None:
    rng = random.Random(seed)

    def reply(prompt: str) -> Turn:
        told_before = "## Your previous answer" in prompt
        kinds = [WAITED_OUT, STOPS, () if told_before else UNREADABLE]
        fault = rng.choice([None, *rng.choice([kind for kind in kinds if kind])])
        return fault or {"content": good(prompt)}

    server.reply = reply
    finish(bench, rounds=2)
    journal = Journal(bench.home / "runs" / "r" / "journal")
    replies = [journal.reply(step) for step in journal.steps()]
    assert None not in replies
    assert server.answered == len(replies), "every answer that was paid for is one that was kept"
    assert bench.path().count("prepare") == 1
