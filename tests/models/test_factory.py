"""From a model's name to a client: settings, capabilities, keys, providers, limiter and cache."""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import types
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cudamaster.models.ask import ask
from cudamaster.models.budget import Budget
from cudamaster.models.capabilities import capabilities
from cudamaster.models.errors import ModelConfigError
from cudamaster.models.factory import chat_model
from cudamaster.models.journal import Journal
from cudamaster.models.limiter import SharedLimiter
from cudamaster.models.providers import PROVIDERS
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from ..support.fake_openai import FakeOpenAI
from .conftest import STEP


def sent(server: FakeOpenAI, tmp_path: Path, spec: str, **settings: Any) -> dict[str, Any]:
    """Ask once and return the request's body."""
    server.reply = lambda prompt: {"content": "hi"}
    model = chat_model(spec, base_url=server.url, **settings)
    ask(model, "p", step=STEP, journal=Journal(tmp_path / str(len(server.requests))), budget=Budget())
    return server.requests[-1]


@pytest.mark.parametrize(
    "spec", ["", "openai", "openai:", ":x", "offline:x", "gpt-5", "  ", "openai: ", "mailbox:m", "nobody:model"]
)
def test_a_name_that_is_none_is_refused_in_one_line(spec: str) -> None:
    with pytest.raises(ModelConfigError) as caught:
        chat_model(spec)
    assert "\n" not in str(caught.value)
    assert "openai" in str(caught.value), "it says what would be right"


def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelConfigError, match="OPENAI_API_KEY"):
        chat_model("openai:gpt-5")


def test_a_server_without_keys_needs_none(server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert sent(server, tmp_path, "openai:m")["model"] == "m"


def test_key_goes_in_the_header_alone(server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
    body = sent(server, tmp_path, "openai:m")
    assert server.headers[-1]["authorization"] == "Bearer sk-secret-1"
    assert "sk-secret-1" not in json.dumps(body)
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not any("sk-secret-1" in text for text in kept)


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_the_base_url_of_the_environment(
    server: FakeOpenAI, journal: Journal, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, server.url)
    server.script = [{"content": "hi"}]
    assert ask(chat_model("openai:m"), "p", step=STEP, journal=journal, budget=Budget()).text == "hi"


def test_a_base_url_that_is_none() -> None:
    with pytest.raises(ModelConfigError, match="http://"):
        chat_model("openai:m", base_url="localhost:8000")


def test_nothing_is_sent_that_was_not_asked_for(server: FakeOpenAI, tmp_path: Path) -> None:
    body = sent(server, tmp_path, "openai:some/model:free")
    assert set(body) == {"model", "messages", "stream"}
    assert body["model"] == "some/model:free"


def test_settings_reach_a_model_that_takes_them(server: FakeOpenAI, tmp_path: Path) -> None:
    body = sent(
        server, tmp_path, "openai:openai/gpt-oss-20b", temperature=0.2, max_output_tokens=99, reasoning_effort="low"
    )
    assert (body["temperature"], body["max_tokens"], body["reasoning_effort"]) == (0.2, 99, "low")
    assert "max_completion_tokens" not in body


def test_settings_that_a_model_does_not_take_are_dropped_and_logged(
    server: FakeOpenAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        body = sent(server, tmp_path, "openai:o3", temperature=0.2, max_output_tokens=99, reasoning_effort="extreme")
    assert set(body) == {"model", "messages", "stream", "max_completion_tokens"}
    assert "takes no temperature: 0.2 dropped" in caplog.text
    assert "'extreme' (it takes: low, medium, high): dropped" in caplog.text


@pytest.mark.parametrize("name", ["o3-like", "gpt-5-of-mine", "o", "my/o3"])
def test_a_name_that_begins_like_another_is_not_that_one(server: FakeOpenAI, tmp_path: Path, name: str) -> None:
    body = sent(server, tmp_path, f"openai:{name}", max_output_tokens=9)
    assert body["max_tokens"] == 9
    assert capabilities(name).temperature


def test_an_endpoint_has_its_own_default() -> None:
    assert capabilities("new-model").token_limit == "max_completion_tokens", "OpenAI's own"
    assert capabilities("new-model", "https://api.openai.com/v1/").token_limit == "max_completion_tokens"
    assert capabilities("new-model", "http://localhost:8000/v1").token_limit == "max_tokens"


def test_the_users_own_table_comes_over_the_built_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.json"
    monkeypatch.setenv("CUDAMASTER_CAPABILITIES", str(own))
    url = "http://localhost:8000/v1"
    table = {
        "models": {"o3": {"temperature": True}},
        "endpoints": {url: {"default": {"stream": True}, "models": {"o3": {"stream": False}}}},
    }
    own.write_text(json.dumps(table))
    assert capabilities("o3").temperature
    assert capabilities("o3").reasoning_effort == ("low", "medium", "high"), "the rest of the entry stays"
    assert capabilities("x", url).stream
    assert not capabilities("o3", url).stream
    for text in ("{", '{"default": {"token_limit": "max_words"}}'):
        own.write_text(text)
        with pytest.raises(ModelConfigError, match="CUDAMASTER_CAPABILITIES"):
            capabilities("x", "http://localhost:1/v1")
    own.unlink()
    with pytest.raises(ModelConfigError, match="CUDAMASTER_CAPABILITIES"):
        capabilities("x")


def test_a_streaming_endpoint_is_asked_for_its_usage(
    server: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"models": {"m": {"stream": true}, "n": {"stream": true, "stream_usage": false}}}')
    monkeypatch.setenv("CUDAMASTER_CAPABILITIES", str(own))
    body = sent(server, tmp_path, "openai:m")
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    body = sent(server, tmp_path, "openai:n")
    assert body["stream"] is True
    assert "stream_options" not in body


def test_timeout_is_set_and_the_client_itself_never_retries() -> None:
    model: Any = chat_model("openai:m", timeout_s=12.0)
    assert (model.request_timeout, model.max_retries) == (12.0, 0)
    assert chat_model("openai:m").request_timeout == 600.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_a_provider_without_its_package_names_it(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PROVIDERS[provider].module, None)
    with pytest.raises(ModelConfigError, match=f"pip install {PROVIDERS[provider].package}"):
        chat_model(f"{provider}:some-model")


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_a_provider_with_its_package_is_used_without_its_retries(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = PROVIDERS[provider]
    seen: dict[str, Any] = {}

    def construct(**settings: Any) -> BaseChatModel:
        seen.update(settings)
        return FakeListChatModel(responses=["hi"])

    module = types.ModuleType(known.module)
    setattr(module, known.name, construct)
    monkeypatch.setitem(sys.modules, known.module, module)
    if known.keys:
        with pytest.raises(ModelConfigError, match=known.keys[0]):
            chat_model(f"{provider}:some:model")
        monkeypatch.setenv(known.keys[-1], "key")
    model = chat_model(f"{provider}:some:model", temperature=0.5, max_output_tokens=77, timeout_s=9.0)
    assert isinstance(model, FakeListChatModel)
    assert seen["model"] == "some:model"
    assert seen["temperature"] == 0.5
    assert seen[known.max_output_tokens] == 77
    if known.retries:
        assert seen[known.retries] == known.no_retries
    if known.timeout:
        assert seen[known.timeout] == 9.0


def test_what_a_provider_refuses_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("langchain_anthropic")

    def construct(**settings: Any) -> BaseChatModel:
        raise ValueError("no such\nmodel")

    module.ChatAnthropic = construct  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain_anthropic", module)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    with pytest.raises(ModelConfigError, match="anthropic:m: no such model"):
        chat_model("anthropic:m")


# --- limiter ---------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def limiters(file: Path, count: int, per_minute: float = 60.0) -> tuple[Clock, list[SharedLimiter]]:
    clock = Clock()
    return clock, [SharedLimiter(file, per_minute, clock=clock, sleep=clock.sleep) for _ in range(count)]


def test_parallel_runs_share_one_rate(tmp_path: Path) -> None:
    clock, (first, second) = limiters(tmp_path / "limits" / "x", 2)
    start = clock.now
    for limiter in (first, second, first, second):
        assert limiter.acquire()
    assert clock.now - start == pytest.approx(3.0), "one a second over both"


def test_without_blocking_nothing_is_waited_for_or_taken(tmp_path: Path) -> None:
    clock, (limiter,) = limiters(tmp_path / "x", 1)
    assert limiter.acquire(blocking=False)
    assert not limiter.acquire(blocking=False)
    clock.now += 1.0
    assert limiter.acquire(blocking=False)


def test_what_one_run_is_told_to_wait_all_wait(tmp_path: Path) -> None:
    clock, (first, second) = limiters(tmp_path / "x", 2)
    first.pause(20.0)
    start = clock.now
    second.acquire()
    assert clock.now - start == pytest.approx(20.0)


def test_a_file_with_nonsense_or_a_moment_far_ahead_pauses_nobody(tmp_path: Path) -> None:
    file = tmp_path / "x"
    clock, (limiter,) = limiters(file, 1)
    for text in ("nonsense", "", f"{clock.now + 1e6}"):
        file.write_text(text)
        start = clock.now
        limiter.acquire()
        assert clock.now == start
        clock.now += 5


async def test_asynchronous_callers_take_their_turn_too(tmp_path: Path) -> None:
    limiter = SharedLimiter(tmp_path / "x", 60_000.0)
    assert await limiter.aacquire()
    assert await limiter.aacquire()


def test_a_rate_limited_reply_pauses_the_shared_limiter(
    server: FakeOpenAI, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(SharedLimiter, "pause", lambda self, seconds: paused.append(seconds))
    server.script = [{"status": 429, "headers": {"Retry-After": "0"}}, {"status": 503}, {"content": "hi"}]
    from cudamaster.models.retry import Patience

    model = chat_model("openai:m", base_url=server.url, requests_per_minute=6000, home=tmp_path)
    ask(model, "p", step=STEP, journal=journal, budget=Budget(), patience=Patience(sleep=lambda s: None))
    assert paused == [0.0], "a server error is this run's alone"
    assert list((tmp_path / "limits").iterdir())


@pytest.mark.parametrize("value", ["-1", "many", "nan"])
def test_a_rate_that_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDAMASTER_REQUESTS_PER_MINUTE", value)
    with pytest.raises(ModelConfigError, match="requests per minute"):
        chat_model("openai:m")


# --- reply cache -----------------------------------------------------------------------------------------------------


def test_the_sqlite_cache_answers_the_same_question_for_nothing(server: FakeOpenAI, tmp_path: Path) -> None:
    pytest.importorskip("langchain_community", reason="extra `community` not installed", exc_type=ImportError)
    server.script = [{"content": "hi"}]
    replies = []
    for number in (1, 2):
        model = chat_model("openai:gpt-4.1", base_url=server.url, reply_cache="sqlite", home=tmp_path)
        journal = Journal(tmp_path / f"run{number}")
        replies.append(ask(model, "the same", step=STEP, journal=journal, budget=Budget()))
    assert len(server.requests) == 1
    assert [reply.text for reply in replies] == ["hi", "hi"]
    assert replies[0].cost_usd == pytest.approx(0.006)
    assert replies[1].cost_usd == 0.0


def test_a_damaged_row_of_the_cache_is_asked_again(server: FakeOpenAI, tmp_path: Path) -> None:
    pytest.importorskip("langchain_community", reason="extra `community` not installed", exc_type=ImportError)
    server.reply = lambda prompt: {"content": "hi"}
    sent(server, tmp_path, "openai:m", reply_cache="sqlite", home=tmp_path)
    with closing(sqlite3.connect(tmp_path / "reply-cache.sqlite")) as connection, connection:
        assert connection.execute('update full_llm_cache set response = \'{"lc": 1, "type"\'').rowcount == 1
    sent(server, tmp_path, "openai:m", reply_cache="sqlite", home=tmp_path)
    assert len(server.requests) == 2


def test_the_cache_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "langchain_community.cache", None)
    with pytest.raises(ModelConfigError, match=r"cudamaster\[community\]"):
        chat_model("openai:m", reply_cache="sqlite", home=tmp_path)


def test_another_kind_of_cache_is_refused() -> None:
    with pytest.raises(ModelConfigError, match="only `sqlite`"):
        chat_model("openai:m", reply_cache="redis")
