"""Every reply of the corpus is read as expected, or refused with a complaint that names its fault."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cudamaster.models.parse import (
    Unreadable,
    check_finished,
    parse_answer,
    parse_plan,
    parse_repair,
    parse_source,
    parse_spec,
)
from cudamaster.models.reply import Reply
from cudamaster.prompts.brief import Plan
from cudamaster.tools.records import BuildSpec

FOLDER = Path(__file__).parent / "replies"
FILE = (FOLDER / "file.cu").read_text()
PROTOTYPE = (
    'extern "C" cudaError_t dot(const float* x, const float* y, float* out, int N, '
    "void* workspace, size_t workspace_bytes, cudaStream_t stream)"
)


def corpus(agent: str) -> list[tuple[str, str, str]]:
    """Return (name, expectation, text) of each reply of an agent's file."""
    pieces = re.split(r"^=== (.*?) :: ?(.*)\n", (FOLDER / f"{agent}.txt").read_text(), flags=re.M)
    texts = [text.replace("@FILE@\n", FILE) for text in pieces[3::3]]
    return list(zip(pieces[1::3], pieces[2::3], texts, strict=True))


def cases(agent: str, *, bad: bool) -> list[object]:
    return [pytest.param(e, t, id=n) for n, e, t in corpus(agent) if e.startswith("bad ") == bad]


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    names = [(agent, name) for agent in ("planner", "coder", "compiler", "debugger") for name, _, _ in corpus(agent)]
    assert len(names) == len(set(names)) >= 100


@pytest.mark.parametrize(("expectation", "text"), cases("coder", bad=False))
def test_a_file_is_found(expectation: str, text: str) -> None:
    text = text.replace("\n", "\r\n") if expectation == "crlf" else text
    source = parse_source(text, "dot", PROTOTYPE)
    if expectation.startswith("contains "):
        assert expectation.removeprefix("contains ") in source
        assert "```\n" not in source
    else:
        assert source == FILE
    assert parse_source(text, "dot") == source, "the prototype only adds a check"


@pytest.mark.parametrize(("expectation", "text"), cases("planner", bad=False))
def test_a_plan_is_read(expectation: str, text: str) -> None:
    plan = parse_plan(text)
    expected = json.loads(expectation)
    assert {name: getattr(plan, name) for name in expected} == expected


@pytest.mark.parametrize(("expectation", "text"), cases("compiler", bad=False))
def test_build_options_are_read(expectation: str, text: str) -> None:
    assert parse_spec(text) == BuildSpec.model_validate(json.loads(expectation))


@pytest.mark.parametrize(("expectation", "text"), cases("debugger", bad=False))
def test_a_repair_is_read(expectation: str, text: str) -> None:
    repair = parse_repair(text, "dot", PROTOTYPE)
    assert repair.source == FILE
    assert repair.diagnosis == expectation


@pytest.mark.parametrize(
    ("agent", "expectation", "text"),
    [
        pytest.param(agent, *case.values, id=f"{agent}: {case.id}")  # type: ignore[attr-defined]
        for agent in ("planner", "coder", "compiler", "debugger")
        for case in cases(agent, bad=True)
    ],
)
def test_an_unusable_answer_is_refused_and_told_why(agent: str, expectation: str, text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse_answer(agent, text, "dot", PROTOTYPE)  # type: ignore[arg-type]
    assert expectation.removeprefix("bad ") in caught.value.complaint
    assert "\n" not in caught.value.complaint


def test_parse_answer_uses_the_parser_of_the_agent() -> None:
    assert isinstance(parse_answer("planner", '{"strategy": "s"}', "dot"), Plan)
    assert parse_answer("compiler", "{}", "dot") == BuildSpec()
    assert parse_answer("coder", f"```cuda\n{FILE}```", "dot") == FILE


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (Reply(text="```cuda\nint x", finish_reason="length"), "cut off"),
        (Reply(text=f"```cuda\n{FILE}```", finish_reason="length"), "cut off"),
        (Reply(text="I ca", finish_reason="content_filter"), "content filter"),
        (Reply(text="", finish_reason="stop"), "empty"),
        (Reply(text="", finish_reason="stop", reasoning="hm"), "all of it was reasoning"),
        (Reply(text="<think>hm", finish_reason="stop"), "all of it was reasoning"),
    ],
)
def test_how_an_answer_ended_is_looked_at_first(reply: Reply, complaint: str) -> None:
    with pytest.raises(Unreadable, match=complaint):
        check_finished(reply)


def test_a_finished_answer_passes_unchanged() -> None:
    assert check_finished(Reply(text="<think>a</think>b", finish_reason="stop")) == "<think>a</think>b"
    assert check_finished(Reply(text="told no reason", finish_reason="")) == "told no reason"


def test_long_words_are_cut_to_what_the_history_holds() -> None:
    plan = parse_plan(json.dumps({"strategy": "s" * 500, "reasoning": "r" * 9000}))
    assert len(plan.strategy) == 120
    assert len(plan.reasoning) == 4000


@pytest.mark.parametrize(
    "text", ["{" * 20_000, "{" * 20_000 + "}" * 20_000, "```" * 5_000, "((" * 20_000 + "dot(", "<think>" * 5_000]
)
def test_monstrous_answers_are_refused_at_once(text: str) -> None:
    for agent in ("planner", "coder", "compiler", "debugger"):
        with pytest.raises(Unreadable):
            parse_answer(agent, text, "dot")  # type: ignore[arg-type]
