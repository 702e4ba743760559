"""A run again from its journal, with no network; and LangChain's own tests of our models."""

from __future__ import annotations

from pathlib import Path

import pytest
from cudamaster.models.ask import ask
from cudamaster.models.budget import Budget
from cudamaster.models.errors import ModelConfigError, ReplayMiss
from cudamaster.models.factory import chat_model
from cudamaster.models.journal import Journal
from cudamaster.models.mailbox import MailboxChat
from cudamaster.models.replay import ReplayChat
from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests

from ..support.fake_openai import FakeOpenAI

STEPS = ("001.00.planner.0", "001.00.coder.0", "001.00.compiler.0")


@pytest.fixture
def recorded(server: FakeOpenAI, tmp_path: Path) -> Journal:
    """A journal of three replies from a server."""
    journal = Journal(tmp_path / "runs" / "a" / "journal")
    server.reply = lambda prompt: {"content": f"answer to {prompt}", "reasoning_content": "hm", "model": "m-2026"}
    model = chat_model("openai:m", base_url=server.url)
    for step in STEPS:
        ask(model, f"prompt of {step}", step=step, journal=journal, budget=Budget())
    return journal


def test_a_run_is_replayed_without_the_server(server: FakeOpenAI, recorded: Journal, tmp_path: Path) -> None:
    again = Journal(tmp_path / "again")
    model = chat_model(f"replay:{recorded.folder}")
    for step in STEPS:
        reply = ask(model, f"prompt of {step}", step=step, journal=again, budget=Budget(max_usd=0.0))
        original = recorded.reply(step)
        assert original is not None
        kept = {"text", "reasoning", "finish_reason", "model", "input_tokens", "output_tokens", "tokens_estimated"}
        assert reply.model_dump(include=kept) == original.model_dump(include=kept)
        assert reply.cost_usd == 0.0
    assert len(server.requests) == len(STEPS)


def test_a_step_whose_prompt_differs_gets_the_steps_reply_unless_strict(recorded: Journal, tmp_path: Path) -> None:
    loose = ask(
        ReplayChat(journal=recorded), "1.23 us", step=STEPS[1], journal=Journal(tmp_path / "1"), budget=Budget()
    )
    assert loose.text == f"answer to prompt of {STEPS[1]}"
    strict = ReplayChat(journal=recorded, strict=True)
    with pytest.raises(ReplayMiss):
        ask(strict, "1.23 us", step=STEPS[1], journal=Journal(tmp_path / "2"), budget=Budget())


def test_the_same_prompt_in_another_step_is_found(recorded: Journal, tmp_path: Path) -> None:
    prompt = f"prompt of {STEPS[2]}"
    reply = ask(
        ReplayChat(journal=recorded), prompt, step="002.00.compiler.0", journal=Journal(tmp_path / "1"), budget=Budget()
    )
    assert reply.text == f"answer to {prompt}"


def test_a_question_that_was_never_asked_is_a_clear_miss(recorded: Journal, tmp_path: Path) -> None:
    with pytest.raises(ReplayMiss, match=r"no reply to step 009\.00\.coder\.0"):
        ask(ReplayChat(journal=recorded), "p", step="009.00.coder.0", journal=Journal(tmp_path / "1"), budget=Budget())


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelConfigError, match="no journal"):
        chat_model(f"replay:{tmp_path}")


class _Plain(ChatModelUnitTests):
    """What our models don't do is said once."""

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return False


class TestMailboxStandard(_Plain):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return MailboxChat


class TestReplayStandard(_Plain):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ReplayChat

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"journal": Journal(Path("nowhere"))}
