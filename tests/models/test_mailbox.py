"""The mailbox: a graph that pauses, questions as files, answers checked, and what is refused."""

from __future__ import annotations

import json
import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.models.ask import ask
from cudamaster.models.budget import Budget
from cudamaster.models.errors import ModelError
from cudamaster.models.factory import chat_model
from cudamaster.models.journal import Journal
from cudamaster.models.mailbox_file import (
    BadAnswerFile,
    Delivery,
    check_answers,
    questions_to_jsonl,
    questions_to_markdown,
    read_answers,
)
from cudamaster.models.question import Answer, Question, answered_ids, question_id
from cudamaster.prompts.brief import AgentName, Brief, Plan
from cudamaster.prompts.render import render
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from .test_parse import FILE, PROTOTYPE

CONTRACT = f'{PROTOTYPE};\nextern "C" size_t dot_workspace_bytes(int N);'
GOOD: dict[AgentName, str] = {
    "planner": '{"strategy": "block_reduction"}',
    "coder": f"```cuda\n{FILE}```\n",
    "compiler": "{}",
    "debugger": f"Diagnosis: x\n```cuda\n{FILE}```\n",
}


def question(run: str, agent: AgentName) -> Question:
    brief = Brief(
        agent=agent,
        task_name="dot",
        precision=Precision.FP32,
        contract=CONTRACT,
        source=FILE,
        candidate=FILE,
        error="wrong",
        plan=Plan(strategy="s"),
    )
    prompt = render(brief)
    step = f"001.00.{agent}.0"
    return Question(run=run, id=question_id(step, prompt), agent=agent, unit="dot-fp32", prompt=prompt)


QUESTIONS = [question(run, agent) for run in ("first", "second.run") for agent in GOOD]


# --- the graph -------------------------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def paused_graph(journal: Journal) -> Any:
    """Two nodes, each of which asks once."""

    def node(step: str) -> Any:
        def run(state: State) -> State:
            reply = ask(chat_model("mailbox"), f"prompt of {step}", step=step, journal=journal, budget=Budget())
            return {"log": [reply.text]}

        return run

    graph = StateGraph(State)
    graph.add_node("planner", node("001.00.planner.0"))
    graph.add_node("coder", node("001.00.coder.0"))
    graph.add_edge(START, "planner")
    graph.add_edge("planner", "coder")
    return graph.compile(checkpointer=InMemorySaver())


def test_a_graph_pauses_with_its_question_and_goes_on_with_the_answer(journal: Journal) -> None:
    graph, config = paused_graph(journal), {"configurable": {"thread_id": "1"}}
    first = graph.invoke({"log": []}, config, version="v2").interrupts
    assert [i.value for i in first] == [
        {
            "kind": "question",
            "id": question_id("001.00.planner.0", "prompt of 001.00.planner.0"),
            "step": "001.00.planner.0",
            "agent": "planner",
            "prompt": "prompt of 001.00.planner.0",
        }
    ]
    answer = {"text": "A", "model": "someone", "input_tokens": 7, "output_tokens": 3}
    second = graph.invoke(Command(resume={first[0].id: answer}), config, version="v2").interrupts
    assert [i.value["agent"] for i in second] == ["coder"], "the first answer is not used twice"
    result = graph.invoke(Command(resume={second[0].id: "B"}), config, version="v2")
    assert result.value["log"] == ["A", "B"]

    told, plain = journal.reply("001.00.planner.0"), journal.reply("001.00.coder.0")
    assert told is not None
    assert plain is not None
    assert (told.model, told.input_tokens, told.output_tokens, told.tokens_estimated) == ("someone", 7, 3, False)
    assert (plain.model, plain.tokens_estimated, plain.cost_usd) == ("mailbox", True, 0.0)
    assert answered_ids(journal) == {i.value["id"] for i in (*first, *second)}


def test_the_same_question_comes_again_until_it_is_answered(journal: Journal) -> None:
    ids = set()
    for thread in ("1", "2"):
        graph = paused_graph(Journal(journal.folder))
        ids |= {
            i.value["id"]
            for i in graph.invoke({"log": []}, {"configurable": {"thread_id": thread}}, version="v2").interrupts
        }
    assert len(ids) == 1
    assert answered_ids(journal) == frozenset()


@pytest.mark.parametrize("value", [None, 3, [], {}, {"content": "x"}, {"text": "x", "input_tokens": -1}, {"text": 5}])
def test_what_is_no_answer_is_refused(value: object) -> None:
    with pytest.raises(ModelError, match="not an answer") as caught:
        Answer.read(value)
    assert "\n" not in str(caught.value)


# --- files -----------------------------------------------------------------------------------------------------------


def filled_jsonl(text: str) -> str:
    """Answer every line of an export."""
    rows = [json.loads(line) for line in text.splitlines()]
    return "".join(
        json.dumps({**row, "text": GOOD[row["agent"]], "model": "strong", "output_tokens": 9}) + "\n" for row in rows
    )


def test_jsonl_goes_out_and_comes_back() -> None:
    text = questions_to_jsonl(QUESTIONS)
    rows = [json.loads(line) for line in text.splitlines()]
    assert len({row["id"] for row in rows}) == len(QUESTIONS)
    assert {"id", "agent", "unit", "prompt", "answer_format", "text"} == set(rows[0])
    assert "one JSON object and nothing else" in rows[0]["answer_format"]
    assert read_answers(text) == [], "an export that nobody filled in"

    checked = check_answers(read_answers(filled_jsonl(text)), QUESTIONS)
    assert [item.status for item in checked] == ["good"] * len(QUESTIONS)
    assert checked[0].key == QUESTIONS[0].key == f"first/{QUESTIONS[0].id}"
    assert checked[0].answer == Answer(text=GOOD["planner"], model="strong", output_tokens=9)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_markdown_goes_out_and_comes_back(line_end: str) -> None:
    text = questions_to_markdown(QUESTIONS)
    assert read_answers(text) == [], "an export that nobody filled in"
    for number, q in enumerate(QUESTIONS):
        mark = f"<!-- answer {q.key} -->"
        assert text.count(f"{mark}\n") == 1
        named = mark.replace(" -->", ' model="A Person" -->') if number == 0 else mark
        text = text.replace(f"{mark}\n", f"{named}\n{GOOD[q.agent]}")
    deliveries = read_answers(text.replace("\n", line_end))
    assert [d.answer.model for d in deliveries[:2]] == ["A Person", "mailbox"]
    assert [item.status for item in check_answers(deliveries, QUESTIONS)] == ["good"] * len(QUESTIONS)


def test_a_markdown_answer_may_hold_code_fences_and_comments_of_its_own() -> None:
    q = QUESTIONS[1]
    body = f"<!-- a note -->\n```cuda\n// <!-- end -->\n{FILE}```"
    text = questions_to_markdown([q]).replace(f"<!-- answer {q.key} -->\n", f"<!-- answer {q.key} -->\n{body}\n")
    assert [d.answer.text for d in read_answers(text)] == [body]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no answers in it"),
        ("Dear sirs,", "no answers in it"),
        ('{"id": "r/1", "text": "a"}\n{"id": ', "line 2 is not JSON"),
        ('{"text": "a"}', 'line 1 has no "id"'),
        ('{"id": 5, "text": "a"}', 'line 1 has no "id"'),
        ('{"id": "r/1", "text": "a"}\n[]', 'line 2 has no "id"'),
        ('{"id": "r/1", "text": {"a": 1}}', "line 1: not an answer"),
        ('{"id": "r/1", "text": "a", "output_tokens": "many"}', "line 1: not an answer"),
        ("<!-- answer r/1 -->\nA\n", "<!-- end r/1 -->` is missing"),
        ("<!-- answer r/1 -->\nA\n<!-- end r/2 -->\n", "<!-- end r/1 -->` is missing"),
    ],
)
def test_a_file_that_can_not_be_read_is_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(BadAnswerFile) as caught:
        read_answers(text)
    assert words in str(caught.value)


def deliver(key: str, text: str) -> Delivery:
    return Delivery(key=key, answer=Answer(text=text))


def test_stale_double_unknown_and_bad_answers_are_told_apart() -> None:
    planner, coder = QUESTIONS[0], QUESTIONS[1]
    deliveries = [
        deliver(planner.key, "I would tile it."),
        deliver(planner.key, GOOD["planner"]),
        deliver(planner.key, GOOD["planner"]),
        deliver("first/0123456789abcdef", "x"),
        deliver("nobody/0123456789abcdef", "x"),
        deliver("first/feedfeedfeedfeed", "x"),
        deliver(coder.id, GOOD["coder"]),
        deliver(coder.key, GOOD["coder"]),
    ]
    checked = check_answers(deliveries, QUESTIONS, {"first": {"feedfeedfeedfeed"}})
    assert [item.status for item in checked] == [
        "bad",
        "good",
        "double",
        "unknown",
        "unknown",
        "stale",
        "unknown",
        "good",
    ]
    assert "no JSON object" in checked[0].problem
    assert all(item.problem for item in checked if item.status != "good")
    assert all((item.answer is None) == (item.status != "good") for item in checked)


@pytest.mark.parametrize("agent", list(GOOD))
def test_an_answer_is_checked_by_the_parser_of_its_agent(agent: AgentName) -> None:
    asked = question("r", agent)
    assert asked.complaint(Answer(text=GOOD[agent])) == ""
    for other, text in GOOD.items():
        if {agent, other} not in ({"coder", "debugger"}, {agent}) and (agent, other) != ("compiler", "planner"):
            assert asked.complaint(Answer(text=text)), f"{other}'s answer to the {agent}"
    assert "unknown field" in question("r", "compiler").complaint(Answer(text=GOOD["planner"]))
    assert "empty" in asked.complaint(Answer(text="<think>hm"))


def test_the_signature_is_checked_against_the_contract_in_the_prompt() -> None:
    text = GOOD["coder"].replace("float* out, int N, void*", "float* out, long N, void*")
    assert "should take (const float*, const float*, float*, int" in question("r", "coder").complaint(Answer(text=text))


def test_two_hundred_questions_are_exported_and_checked(tmp_path: Path) -> None:
    questions = [question(f"run-{n}", agent) for n in range(50) for agent in GOOD]
    checked = check_answers(read_answers(filled_jsonl(questions_to_jsonl(questions))), questions)
    assert sum(item.status == "good" for item in checked) == 200


def test_a_question_is_made_from_the_value_of_an_interrupt() -> None:
    value = {"kind": "question", "id": "0" * 16, "step": "001.00.coder.0", "agent": "coder", "prompt": "p"}
    assert Question.of_interrupt("r", "dot-fp32", value) == Question(
        run="r", id="0" * 16, agent="coder", unit="dot-fp32", prompt="p"
    )
