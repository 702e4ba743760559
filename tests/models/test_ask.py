"""Asking a real client over HTTP: every fault of an endpoint, no question paid twice."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from cudamaster.models.ask import ask
from cudamaster.models.budget import Budget, BudgetExceeded
from cudamaster.models.errors import (
    ContextOverflow,
    ModelAuthError,
    ModelError,
    ModelRequestError,
    ModelUnavailable,
    ModelUnknown,
    QuotaExhausted,
)
from cudamaster.models.factory import chat_model
from cudamaster.models.journal import Journal, JournalDamaged
from cudamaster.models.reply import Reply
from cudamaster.models.retry import Patience
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from ..support.fake_openai import FakeOpenAI, Turn
from .conftest import STEP

OK: Turn = {"content": "hi"}


def asked(
    server: FakeOpenAI, journal: Journal, waits: list[float] | None = None, *, stream: bool = False, **settings: Any
) -> Reply:
    """Ask one question of the server; waits between retries are noted instead of slept."""
    model = chat_model("openai:m", base_url=server.url, timeout_s=settings.pop("timeout_s", 5.0), **settings)
    model.streaming = stream  # type: ignore[attr-defined]
    patience = Patience(attempts=4, sleep=([] if waits is None else waits).append)
    return ask(model, "the prompt", step=STEP, journal=journal, budget=Budget(), patience=patience)


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_is_told_with_its_reasoning_its_end_and_its_tokens(
    server: FakeOpenAI, journal: Journal, stream: bool
) -> None:
    server.script = [{"content": "hi", "reasoning_content": "hm", "finish_reason": "length"}]
    reply = asked(server, journal, stream=stream)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model) == ("hi", "hm", "length", "m")
    assert (reply.input_tokens, reply.output_tokens, reply.tokens_estimated) == (1000, 500, False)
    assert reply.cost_usd is None, "the price of `m` is not known"
    assert server.requests[0]["messages"] == [{"role": "user", "content": "the prompt"}]


def test_usage_that_is_not_told_is_estimated_and_marked(server: FakeOpenAI, journal: Journal) -> None:
    server.script = [{"content": "one two three", "usage": None}]
    reply = asked(server, journal)
    assert reply.tokens_estimated
    assert (reply.input_tokens, reply.output_tokens) == (2, 3)


PASSING: dict[str, list[Turn]] = {
    "rate limit": [{"status": 429, "error": "Rate limit reached"}, OK],
    "request timeout": [{"status": 408}, OK],
    "server error, twice": [{"status": 500}, {"status": 503}, OK],
    "overloaded": [{"status": 529}, OK],
    "connection lost": [{"drop": True}, OK],
    "a page instead of JSON": [{"body": "<html>Bad gateway</html>"}, OK],
    "broken JSON": [{"body": '{"choices": ['}, OK],
    "JSON of another kind": [{"body": "[]"}, OK],
    "an error with status 200": [{"body": '{"error": {"message": "provider overloaded", "code": 502}}'}, OK],
    "no answer in it": [{"body": '{"choices": [], "model": "m"}'}, OK],
    "silence": [{"sleep": 0.5, "content": "too late"}, OK],
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("turns", PASSING.values(), ids=PASSING)
def test_what_passes_is_waited_out(server: FakeOpenAI, journal: Journal, turns: list[Turn], stream: bool) -> None:
    server.script = list(turns)
    waits: list[float] = []
    assert asked(server, journal, waits, stream=stream, timeout_s=0.3).text == "hi"
    assert len(server.requests) == len(turns), "one layer of retries only"
    assert len(waits) == len(turns) - 1


def test_a_stream_that_breaks_off_is_asked_for_again(server: FakeOpenAI, journal: Journal) -> None:
    half = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "half an ans"}, "finish_reason": None}
    server.script = [{"body": f"data: {json.dumps({**half, 'choices': [choice]})}\n\n"}, OK]
    assert asked(server, journal, stream=True).text == "hi"


FATAL: dict[str, tuple[Turn, type[ModelError], str]] = {
    "wrong key": ({"status": 401, "error": "Incorrect API key provided"}, ModelAuthError, "OPENAI_API_KEY"),
    "forbidden": ({"status": 403, "error": "Region not supported"}, ModelAuthError, "Region not supported"),
    "unknown model": ({"status": 404, "error": "The model `m` does not exist"}, ModelUnknown, "--base-url"),
    "context overflow": (
        {"status": 400, "error": {"message": "too long", "code": "context_length_exceeded"}},
        ContextOverflow,
        "longer than the model's context",
    ),
    "context overflow in words": (
        {"status": 400, "error": "This model's maximum context length is 8192 tokens, you asked for 9000"},
        ContextOverflow,
        "8192",
    ),
    "payload too large": ({"status": 413, "error": "prompt is too long"}, ContextOverflow, "too long"),
    "quota, though 429": (
        {"status": 429, "error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        QuotaExhausted,
        "won't help",
    ),
    "balance, though 429": ({"status": 429, "error": "Insufficient balance in account"}, QuotaExhausted, "balance"),
    "balance, though 400": (
        {"status": 400, "error": "Your credit balance is too low"},
        QuotaExhausted,
        "credit balance",
    ),
    "payment required": ({"status": 402, "error": "Payment required"}, QuotaExhausted, "Payment required"),
    "bad parameter": (
        {"status": 400, "error": "Unsupported parameter: 'temperature'"},
        ModelRequestError,
        "temperature",
    ),
    "not processable": ({"status": 422, "error": "bad field"}, ModelRequestError, "bad field"),
    "a wrong path": ({"status": 405, "body": "<html>\n<h1>not\nallowed</h1>"}, ModelRequestError, "HTTP 405"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("turn", "error", "words"), FATAL.values(), ids=FATAL)
def test_what_waiting_cannot_mend_fails_at_once_in_one_line(
    server: FakeOpenAI, journal: Journal, turn: Turn, error: type[ModelError], words: str, stream: bool
) -> None:
    server.script = [turn]
    server.reply = lambda prompt: OK
    waits: list[float] = []
    with pytest.raises(error) as caught:
        asked(server, journal, waits, stream=stream)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1
    assert waits == []
    assert asked(server, journal).text == "hi", "the run goes on from its stored question"
    assert server.answered == 1


@pytest.mark.parametrize(
    ("header", "value", "wait_s"),
    [
        ("Retry-After", "7", 7.0),
        ("Retry-After", "3600", 60.0),
        ("retry-after-ms", "250", 0.25),
        ("Retry-After", "0", 0.0),
    ],
)
def test_retry_after_is_kept_but_capped(
    server: FakeOpenAI, journal: Journal, header: str, value: str, wait_s: float
) -> None:
    server.script = [{"status": 429, "headers": {header: value}}, OK]
    waits: list[float] = []
    asked(server, journal, waits)
    assert waits == [wait_s]


def test_a_date_in_retry_after_falls_back_to_growing_waits(server: FakeOpenAI, journal: Journal) -> None:
    server.script = [{"status": 429, "headers": {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}}] * 3 + [OK]
    waits: list[float] = []
    asked(server, journal, waits)
    assert 1 <= waits[0] <= 2 <= waits[1] <= 3 <= waits[2] <= 5


def test_patience_ends(server: FakeOpenAI, journal: Journal) -> None:
    server.reply = lambda prompt: {"status": 503, "error": "overloaded"}
    with pytest.raises(ModelUnavailable, match=r"resume the run later.*overloaded"):
        asked(server, journal)
    assert len(server.requests) == 4


def test_nobody_listens(journal: Journal) -> None:
    with FakeOpenAI() as gone:
        pass
    with pytest.raises(ModelUnavailable, match="did not answer"):
        asked(gone, journal)


def test_a_step_is_asked_once_whatever_the_prompt_says_later(
    server: FakeOpenAI, journal: Journal, budget: Budget
) -> None:
    server.script = [OK]
    model = chat_model("openai:m", base_url=server.url)
    first = ask(model, "as first told", step=STEP, journal=journal, budget=budget)
    again = ask(model, "told differently", step=STEP, journal=Journal(journal.folder), budget=budget)
    assert again == first
    assert len(server.requests) == 1


def test_a_step_asked_in_vain_is_asked_again_with_the_stored_prompt(server: FakeOpenAI, journal: Journal) -> None:
    journal.question(STEP, "as first told")
    server.script = [OK]
    asked(server, journal)
    assert server.requests[0]["messages"][0]["content"] == "as first told"


def test_the_prompt_is_on_disk_before_it_is_asked(server: FakeOpenAI, journal: Journal) -> None:
    seen: list[str | None] = []

    def reply(prompt: str) -> Turn:
        seen.append(journal.prompt(STEP))
        return OK

    server.reply = reply
    asked(server, journal)
    assert seen == ["the prompt"]


def test_nothing_is_asked_over_the_budget_and_more_budget_goes_on(server: FakeOpenAI, journal: Journal) -> None:
    server.reply = lambda prompt: OK
    model = chat_model("openai:m", base_url=server.url)

    def steps(budget: Budget) -> int:
        for number in itertools.count():
            try:
                ask(model, "prompt", step=f"{number:03d}.00.coder.0", journal=journal, budget=budget)
            except BudgetExceeded:
                return number
        raise AssertionError

    assert steps(Budget(max_calls=3)) == 3
    assert len(server.requests) == 3
    assert steps(Budget(max_calls=5)) == 5, "what was spent before counts, and is not spent again"
    assert len(server.requests) == 5
    assert steps(Budget(max_tokens=5 * 1500 + 1000)) == 6, "the last call may end above the cap, none begins there"
    assert len(server.requests) == 6


def test_other_models_words_for_the_end_are_ours(journal: Journal, budget: Budget) -> None:
    words = {
        "end_turn": "stop",
        "max_tokens": "length",
        "MAX_TOKENS": "length",
        "SAFETY": "content_filter",
        "tool": "tool",
    }
    for number, (theirs, ours) in enumerate(words.items()):
        message = AIMessage("hi", response_metadata={"stop_reason": theirs})
        model = GenericFakeChatModel(messages=iter([message]))
        reply = ask(model, "p", step=f"00{number}.00.coder.0", journal=journal, budget=budget)
        assert reply.finish_reason == ours


def test_reasoning_in_content_blocks_is_kept_apart(journal: Journal, budget: Budget) -> None:
    blocks: list[Any] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}]
    message = AIMessage(blocks, usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7})
    reply = ask(GenericFakeChatModel(messages=iter([message])), "p", step=STEP, journal=journal, budget=budget)
    assert (reply.text, reply.reasoning, reply.tokens_estimated) == ("hi", "hm", False)


def test_cached_input_costs_less(server: FakeOpenAI, journal: Journal) -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 600},
    }
    server.script = [{"content": "x", "usage": usage}]
    model = chat_model("openai:gpt-4.1", base_url=server.url)
    reply = ask(model, "p", step=STEP, journal=journal, budget=Budget())
    assert reply.cached_tokens == 600
    assert reply.cost_usd == pytest.approx((400 * 2.0 + 600 * 0.5 + 100 * 8.0) / 1e6)


def test_a_damaged_reply_is_named_and_not_paid_for_silently(server: FakeOpenAI, journal: Journal) -> None:
    server.reply = lambda prompt: OK
    asked(server, journal)
    file = journal.folder / f"{STEP}.reply.json"
    whole = file.read_text()
    for text in (
        "",
        "{",
        "[]",
        whole.replace('"text"', '"txt"'),
        whole.replace('"request_sha256": "', '"request_sha256": "0'),
    ):
        file.write_text(text)
        with pytest.raises(JournalDamaged, match=r"reply\.json .*delete it to ask again"):
            asked(server, journal)
    assert len(server.requests) == 1


def test_killed_between_question_and_reply_leaves_no_half_file(
    server: FakeOpenAI, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply = lambda prompt: OK

    def killed(source: object, target: object) -> None:
        raise KeyboardInterrupt

    journal.question(STEP, "p")
    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        asked(server, journal)
    monkeypatch.undo()
    assert [path.name for path in journal.folder.iterdir()] == [f"{STEP}.prompt.md"]


@pytest.mark.parametrize("step", ["", "../x", "a/b", ".hidden", "A", "x" * 200, "a\n"])
def test_a_step_that_is_no_file_name_is_refused(tmp_path: Path, step: str) -> None:
    with pytest.raises(ValueError, match="can't be a file name"):
        Journal(tmp_path).question(step, "p")
