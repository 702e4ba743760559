"""Prompts: as kept in the snapshots, and readable back by section.

After a change that is meant, `UPDATE_SNAPSHOTS=1 pytest tests/prompts` writes the snapshots anew.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Contract, DType, Precision, array_in, array_inout, array_out, scalar, size
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import Case, CaseSet
from cudamaster.prompts.brief import AGENTS, AgentName, Attempt, Brief, Plan
from cudamaster.prompts.contract import contract_text, read_prototype, sizes_text
from cudamaster.prompts.hardware import hardware_text
from cudamaster.prompts.render import ERROR_CHARACTERS, HISTORY_LINES, fenced, render, shortened
from cudamaster.prompts.sections import (
    ANSWER_FORMAT,
    CANDIDATE,
    COMPLAINT,
    CONTRACT,
    DIAGNOSIS,
    ERROR,
    HARDWARE,
    HISTORY,
    KERNEL,
    PLAN,
    PROFILE,
    RULES,
    TIMES,
    read_agent,
    read_code,
    read_findings,
    read_history,
    read_plan,
    read_sections,
)
from cudamaster.prompts.times import times_text
from cudamaster.prompts.tokens import estimate_tokens
from cudamaster.tools.device.gpu_model import gpu_model, gpu_models
from cudamaster.tools.records import BuildSpec, CaseGain, EstimatedSpeedup, Finding, Interval, Speedup

SNAPSHOTS = Path(__file__).parent / "snapshots"

INTERFACE = Contract(
    entry="scaled_sum",
    arguments=(
        array_out("out", "rows"),
        array_in("x", "rows", "N", doc="may hold NaN"),
        array_in("start", "rows + 1", dtype=DType.I32),
        array_inout("state", "N", dtype=DType.F32),
        array_out("aux", "rows", nullable=True),
        scalar("alpha"),
        size("rows"),
        size("N"),
    ),
)
SOURCE = """#include <cuda_runtime.h>

__global__ void sum_kernel(const float* x, float* out, int N) {
    atomicAdd(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
"""
FINDINGS = (
    Finding(
        name="same_address_atomics",
        sentence="Every thread adds to one address,\nso the adds wait for each other.",
        evidence="16777216 atomics on 1 address",
        kernel="sum_kernel",
        line=4,
        bound=57.25,
        strategies=("block_reduction", "warp_shuffle"),
    ),
    Finding(name="launch_floor", sentence="The launch itself takes most.", evidence="", bound=1.0),
)
HISTORY_OF_TWO_ROUNDS = (
    Attempt(
        round=1,
        attempt=0,
        strategy="block_reduction",
        metric="same_address_atomics",
        status="pass",
        speedup=12.5,
        best=True,
        bottleneck="memory_latency_bound",
        note="one atomic per block",
        input_tokens=900,
        output_tokens=800,
    ),
    Attempt(round=2, attempt=0, strategy="float4 loads", status="wrong", note="tail of 3\nelements; dropped"),
    Attempt(round=2, attempt=1, strategy="float4 loads", status="pass", estimated_speedup=0.97),
)


_RATIO = Interval(value=2.0, low=1.9, high=2.1)
GAIN = Speedup(
    cases=tuple(
        CaseGain(case=f"rows=64,N={n} uniform", set="paper", complexity=n, baseline_us=us, candidate_us=us / 2,
                 ratio=_RATIO, floor_us=floor_us)
        for n, us, floor_us in ((1024, 12.34567, 4.6), (4096, 1234.567, None))
    ),
    geomean=_RATIO,
    weighted=2.0,
)  # fmt: skip


def brief(agent: AgentName, **changes: object) -> Brief:
    base = Brief(
        agent=agent,
        task_name="scaled_sum",
        precision=Precision.FP32,
        contract=contract_text(INTERFACE, Precision.FP32),
        formula="out[r] = alpha·Σ_i x[r, i]",
        sizes="rows=64, N=1024; rows=64, N=4096",
        hardware=hardware_text(gpu_model("NVIDIA H200")),
        source=SOURCE,
        profile="Bottleneck: memory_latency_bound\n1. same_address_atomics: told by the findings",
        findings=FINDINGS,
        whereabouts=(
            "At rows=64,N=4096 the call takes about 9.1 us, launches included; its floor is 4.6 us (launch).",
        ),
        times=times_text(GAIN),
        history=HISTORY_OF_TWO_ROUNDS,
        plan=Plan(strategy="warp_shuffle", reasoning="fewer\nbarriers", expected_effect="1.3x", metric="barriers"),
        candidate=SOURCE.replace("atomicAdd", "atomicSub"),
        spec=BuildSpec(max_registers=64, defines={"TILE": 32}),
        error="scaled_sum.cu(4): error: expected a `;`",
        round=3,
        rounds=5,
    )
    return Brief.model_validate({**base.model_dump(), **changes})


@pytest.mark.parametrize("agent", AGENTS)
def test_prompts_are_as_kept(agent: AgentName) -> None:
    text, kept = render(brief(agent)), SNAPSHOTS / f"{agent}.md"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        kept.write_text(text)
    assert text == kept.read_text()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_first_prompt_has_no_empty_sections(agent: AgentName) -> None:
    nothing = {"profile": "", "findings": (), "history": (), "plan": None, "spec": None, "hardware": "", "round": 1}
    text = render(brief(agent, **nothing, error="e"))
    sections = read_sections(text)
    assert all(content.strip() for content in sections.values())
    assert not {DIAGNOSIS, PROFILE, HISTORY, PLAN, HARDWARE, COMPLAINT} & set(sections)
    assert "\n\n\n" not in text
    assert "(the baseline)" in text or agent != "planner"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_prompt_is_the_same_bytes_every_time(agent: AgentName) -> None:
    assert render(brief(agent)) == render(Brief.model_validate_json(brief(agent).model_dump_json()))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_prompt_reads_back(agent: AgentName) -> None:
    told = brief(agent)
    prompt = render(told)
    sections = read_sections(prompt)
    assert read_agent(prompt) == agent
    assert list(sections)[-1] == ANSWER_FORMAT
    assert RULES in sections
    assert read_plan(sections.get(PLAN, "")) == (
        None
        if agent == "planner"
        else Plan(strategy="warp_shuffle", reasoning="fewer barriers", expected_effect="1.3x", metric="barriers")
    )
    if agent != "compiler":
        assert read_code(sections[KERNEL]) == SOURCE
        assert read_prototype(read_code(sections[CONTRACT])) == ("scaled_sum", INTERFACE.prototype(Precision.FP32))
    if agent in ("compiler", "debugger"):
        assert read_code(sections[CANDIDATE]) == told.candidate
        assert read_code(sections[ERROR]).strip() == told.error


def test_findings_read_back_largest_first_as_given() -> None:
    sections = read_sections(render(brief("planner")))
    first, second = read_findings(sections[DIAGNOSIS])
    assert first == FINDINGS[0].model_copy(
        update={"sentence": "Every thread adds to one address, so the adds wait for each other."}
    )
    assert second == FINDINGS[1]
    assert sections[DIAGNOSIS].startswith("Bottleneck: memory_latency_bound\n")
    assert PROFILE not in sections, "the findings say it"


def test_history_reads_back_by_what_worked() -> None:
    section = read_sections(render(brief("planner")))[HISTORY]
    attempts = read_history(section)
    assert [(a.round, a.attempt, a.strategy, a.status, a.speedup, a.estimated_speedup) for a in attempts] == [
        (1, 0, "block_reduction", "pass", 12.5, None),
        (2, 0, "float4 loads", "wrong", None, None),
        (2, 1, "float4 loads", "pass", None, 0.97),
    ]
    assert attempts[0].metric == "same_address_atomics"
    assert attempts[0].note == "one atomic per block"
    assert attempts[1].note == "tail of 3 elements; dropped"
    worked, _, failed = section.partition("Did not help:\n")
    assert "block_reduction" in worked
    assert "block_reduction" not in failed


def test_other_views_of_the_profile_are_shown_as_they_are() -> None:
    filtered = "Bottleneck: compute_bound\nsm_throughput_pct = 81.2 %"
    sections = read_sections(render(brief("planner", findings=(), whereabouts=(), profile=filtered)))
    assert sections[DIAGNOSIS] == "Bottleneck: compute_bound"
    assert sections[PROFILE] == "sm_throughput_pct = 81.2 %"
    full = "launch 1: sum_kernel\n  registers_per_thread = 32"
    sections = read_sections(render(brief("planner", findings=(), whereabouts=(), profile=full)))
    assert DIAGNOSIS not in sections
    assert sections[PROFILE] == full


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_wrong_with_the_last_answer_is_said(agent: AgentName) -> None:
    sections = read_sections(render(brief(agent, complaint="it was a patch")))
    assert sections[COMPLAINT] == "It could not be used: it was a patch\nAnswer again, whole."


def test_a_step_back_from_the_best_did_not_help() -> None:
    gains = [2.0, 1.5, 3.0, 3.0]
    history = tuple(
        Attempt(round=n, attempt=0, strategy=f"s{n}", status="pass", speedup=g, best=n in (1, 3))
        for n, g in enumerate(gains, 1)
    )
    section = read_sections(render(brief("planner", history=history)))[HISTORY]
    better, _, worse = section.partition("Did not help:\n")
    assert [a.strategy for a in read_history(better)] == ["s1", "s3"]
    assert [a.strategy for a in read_history(worse)] == ["s2", "s4"]


def test_a_long_history_is_told_shortly() -> None:
    many = tuple(
        Attempt(round=n, attempt=0, strategy=f"idea_{n}", status="pass", speedup=0.9, best=n == 3, note="x" * 400)
        for n in range(1, 101)
    )
    section = read_sections(render(brief("planner", history=many)))[HISTORY]
    told = [attempt.strategy for attempt in read_history(section)]
    assert len(told) == HISTORY_LINES + 1
    assert told[0] == "idea_3", "a gain is never dropped"
    assert told[-1] == "idea_100"
    assert "idea_5" in section, "what was dropped is still named"
    assert estimate_tokens(section) < 10_000


def test_a_long_error_keeps_head_and_tail() -> None:
    log = "first error\n" + "noise\n" * 5000 + "last line"
    told = read_code(read_sections(render(brief("debugger", error=log)))[ERROR])
    assert told.startswith("first error")
    assert told.rstrip().endswith("last line")
    assert len(told) < ERROR_CHARACTERS + 100
    assert shortened("x" * ERROR_CHARACTERS) == "x" * ERROR_CHARACTERS


def test_hostile_text_can_not_open_or_close_a_section() -> None:
    rng = random.Random(7)
    pieces = [
        "## Rules",
        "## Error",
        "```",
        "````",
        "```cuda",
        "# Coder: x",
        "{{ plan }}",
        "{% raw %}",
        "text",
        "~~~",
        "",
    ]
    for _ in range(200):
        text = "\n".join(rng.choice(pieces) for _ in range(12))
        prompt = render(brief("debugger", candidate=text, error=text, source=text))
        sections = read_sections(prompt)
        assert read_agent(prompt) == "debugger"
        for title in (CANDIDATE, KERNEL, ERROR):
            assert read_code(sections[title]).rstrip("\n") == text.rstrip()
        assert sections[RULES].startswith("- Export both functions")


def test_notes_of_several_lines_stay_one_line() -> None:
    note = "line one\n## Rules\n- round 9, attempt 0: `x` → pass"
    plan = Plan(strategy="s\n## Error", reasoning=note, expected_effect=note, metric="m\n## Plan")
    history = (Attempt(round=1, attempt=0, strategy="a\n## b", status="wrong", note=note),)
    for agent in AGENTS:
        sections = read_sections(render(brief(agent, plan=plan, history=history)))
        assert len(read_history(sections.get(HISTORY, ""))) <= 1
        assert sections[RULES].startswith(("- Export both functions", "- Only these fields"))


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a", "c") == "```c\na\n```"
    assert fenced("a```b````c") == "`````\na```b````c\n`````"


def test_not_a_prompt_of_ours() -> None:
    with pytest.raises(ValueError, match="not a prompt"):
        read_agent("Hello")


# --- contract, sizes, hardware ---------------------------------------------------------------------------------------


def test_the_contract_tells_what_each_argument_is() -> None:
    assert contract_text(INTERFACE, Precision.BF16).splitlines() == [
        "// out[rows]: written whole",
        "// x[rows x N]: read only; may hold NaN",
        "// start[rows + 1]: read only",
        "// state[N]: read and overwritten",
        "// aux[rows]: written whole; may be null: then not wanted",
        f"{INTERFACE.prototype(Precision.BF16)};",
        'extern "C" size_t scaled_sum_workspace_bytes(int rows, int N);',
    ]


@pytest.mark.parametrize("name", task_names())
def test_every_task_of_the_benchmark_has_a_short_prompt_that_reads_back(name: str) -> None:
    task = load_task(name)
    for precision in Precision:
        text = render(
            brief(
                "coder",
                contract=contract_text(task.contract, precision),
                sizes=sizes_text(task.in_set(CaseSet.PAPER)),
                source=task.source(precision),
                precision=precision,
            )
        )
        entry, prototype = read_prototype(read_code(read_sections(text)[CONTRACT]))
        assert (entry, prototype) == (task.contract.entry, task.contract.prototype(precision))
        assert estimate_tokens(text) < 6000


def test_hidden_sizes_are_never_told() -> None:
    for name in task_names():
        task = load_task(name)
        told = sizes_text(task.in_set(CaseSet.PAPER)).split("; ")
        known = set(told) | set(sizes_text(task.in_set(CaseSet.SMALL, CaseSet.LARGE)).split("; "))
        hidden = [text for text in sizes_text(task.in_set(CaseSet.HIDDEN)).split("; ") if text not in known]
        assert not set(hidden) & set(told)


def test_sizes_are_told_once_each() -> None:
    cases = [
        Case(set=CaseSet.PAPER, sizes={"N": n}, scalars={"eps": 1e-5}, distribution=d) for n in (8, 16) for d in "ab"
    ]
    assert sizes_text(cases) == "N=8, eps=1e-05; N=16, eps=1e-05"
    assert sizes_text([]) == ""


@pytest.mark.parametrize("gpu", gpu_models(), ids=lambda gpu: gpu.name)
def test_every_listed_gpu_has_its_facts(gpu: object) -> None:
    text = hardware_text(gpu)  # type: ignore[arg-type]
    assert f"{gpu.multiprocessors} SMs" in text  # type: ignore[attr-defined]
    assert "- has cp.async" in text
    assert ("; wgmma and setmaxnreg" in text) == (gpu.arch == "sm_90")  # type: ignore[attr-defined]


def test_the_cpu_device_says_what_it_lacks() -> None:
    text = hardware_text(gpu_model("sm_90"), "cpu")
    assert "no inline PTX" in text
    assert "wgmma" not in text
    assert "132 SMs" in text, "the GPU that the estimate is for"


def test_a_gpu_that_is_not_listed_says_whose_figures_these_are() -> None:
    assert "figures of" in hardware_text(gpu_model("NVIDIA Nonesuch 9000"))


def test_history_records_stay_small() -> None:
    attempt = Attempt(round=100, attempt=20, strategy="s" * 120, metric="m" * 120, status="infra_error", note="n" * 400)
    assert len(attempt.model_dump_json()) < 1024


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("", 0, 0), ("hello world", 2, 3), (SOURCE, 45, 75), ("1234567890", 4, 4), ("internationalization", 2, 5)],
)
def test_token_estimates_are_of_the_right_size(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


def test_times_are_a_line_a_size_and_estimates_are_called_so() -> None:
    assert times_text(GAIN).splitlines() == [
        "us a call: baseline → best (floor)",
        "- rows=64,N=1024 uniform: 12.35 → 6.173 (4.6)",
        "- rows=64,N=4096 uniform: 1235 → 617.3",
    ]
    estimate = EstimatedSpeedup(cases=GAIN.cases, geomean=2.0, weighted=2.0)
    assert times_text(estimate).startswith("us a call (estimated):")


def test_facts_of_the_profiled_call_stand_with_the_findings() -> None:
    for agent in ("planner", "coder"):
        told = read_sections(render(brief(agent)))
        assert "the call takes about 9.1 us" in told[DIAGNOSIS]
        assert "12.35 → 6.173" in told[TIMES]
    assert TIMES not in read_sections(render(brief("planner", times="")))
