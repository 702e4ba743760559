"""Best of n: n beginnings, the better half goes on, and no more rounds than one run would have had."""

from __future__ import annotations

import re

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals.search import Rung, Standings, ladder
from cudamaster.evals.suite import Search, open_suite
from cudamaster.evals.unit import run_unit
from cudamaster.graph.errors import RunError
from cudamaster.graph.run import look
from cudamaster.models.mailbox import MailboxChat
from cudamaster.nodes.context import Options

from ..graph.conftest import Bench
from ..graph.fakes import agent_of, fence, plan, source

UNIT = Unit(task="dot_product", precision=Precision.FP32)
FIRST = {"1": 2.0, "2": 3.0, "3": 1.5, "4": 0.9}
"""Gain of the first round by the place of its strategy."""


def script(prompt: str) -> str:
    """Begin with another gain in each run; make every later round a tenth faster than the best before."""
    match agent_of(prompt):
        case "planner":
            place = re.search(r"choose number (\d)", prompt)
            return plan(f"first_{place[1]}" if place else "a tenth more")
        case "coder":
            first = re.search(r"first_(\d)", prompt.partition("## Plan")[2])
            best = float(re.findall(r'"gain": ([\d.]+)', prompt)[0]) if "FATE" in prompt else 1.0
            return fence(source("pass", FIRST[first[1]] if first else round(best * 1.1, 4)))
        case _:
            return "{}"


@pytest.mark.parametrize("width", [2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("extra", [0, 1, 5, 23])
def test_a_ladder_spends_its_rounds_exactly(width: int, extra: int) -> None:
    least = sum(rung.runs for rung in ladder(width, 60))
    rungs = ladder(width, least + extra)
    rounds = [rung.upto - before for rung, before in zip(rungs, [0, *(r.upto for r in rungs)], strict=False)]
    assert sum(rung.runs * count for rung, count in zip(rungs, rounds, strict=True)) == least + extra
    assert min(rounds) >= 1
    assert (rungs[0].runs, rungs[-1].runs) == (width, 1)
    with pytest.raises(RunError, match=f"at least {least} rounds"):
        ladder(width, least - 1)


def test_twelve_rounds_over_four_runs() -> None:
    assert ladder(4, 12) == (Rung(4, 1), Rung(2, 3), Rung(1, 7))


def test_the_better_half_goes_on_and_only_survivors_are_profiled(bench: Bench) -> None:
    bench.script = script
    suite = open_suite("s", [UNIT], Options(rounds=7), bench.home, search=Search(kind="best-of-n", width=4))
    result = run_unit(suite, UNIT, bench.home)
    names = [f"s.dot_product-fp32.v{number}" for number in (1, 2, 3, 4)]
    file = bench.home / "suites/s/search/dot_product-fp32.json"
    standings = Standings.model_validate_json(file.read_bytes()).rungs
    assert standings == (dict(zip(names, [2.0, 3.0, 1.5, 1.0], strict=True)), {names[1]: 3.3, names[0]: 2.2})
    assert (result.run, result.status, result.gain) == (names[1], "improved", 3.63)
    assert result.runs == tuple(names)
    candidates = [name for name, _ in bench.tool_calls if name == "run_kernel"]
    assert len(candidates) == 1 + 7 + 1, "one baseline for all, seven candidates, the winner once more"
    profiles = [name for name, _ in bench.tool_calls if name == "ncu"]
    assert len(profiles) == 1 + 3 + 1, "the baseline; what goes on in the second and third rung; the last round's best"
    assert result.cost.calls == 3 * 7 == len(bench.asked)
    assert [look(name, home=bench.home).status for name in names] == ["interrupted", "improved"] + ["interrupted"] * 2


@pytest.mark.parametrize("dies_at", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4, 14, 20))])
def test_a_search_that_dies_goes_on_where_it_was(bench: Bench, dies_at: int) -> None:
    def dying(prompt: str) -> str:
        if len(bench.asked) == dies_at:
            raise RuntimeError("power")
        return script(prompt)

    suite = open_suite("s", [UNIT], Options(rounds=7), bench.home, search=Search(kind="best-of-n", width=4))
    bench.script = dying
    with pytest.raises(RuntimeError, match="power"):
        run_unit(suite, UNIT, bench.home)
    bench.script = script
    result = run_unit(suite, UNIT, bench.home)
    assert (result.run[-2:], result.gain, result.cost.calls) == ("v2", 3.63, 21)
    assert len(bench.asked) == 22, "only the question that was being asked is asked again"
    assert run_unit(suite, UNIT, bench.home) == result


def test_a_search_waits_as_its_runs_do(bench: Bench) -> None:
    bench.model = MailboxChat()
    options = Options(rounds=7, model="mailbox")
    suite = open_suite("s", [UNIT], options, bench.home, search=Search(kind="best-of-n", width=4))
    assert run_unit(suite, UNIT, bench.home).status == "waiting_model"
    waiting = [look(f"s.dot_product-fp32.v{number}", home=bench.home) for number in (1, 2, 3, 4)]
    assert [summary.status for summary in waiting] == ["waiting_model"] * 4, "all ask at once, for all can be answered"
