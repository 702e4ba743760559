"""A unit that a cap or an endpoint stopped goes on in the same suite once that is mended."""

from __future__ import annotations

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals.suite import open_suite, read_results
from cudamaster.evals.table import markdown
from cudamaster.evals.unit import run_unit
from cudamaster.models.errors import ModelAuthError
from cudamaster.nodes.context import Options

from ..graph.conftest import Bench
from ..graph.fakes import fence, replies, source

UNIT = Unit(task="dot_product", precision=Precision.FP32)


@pytest.fixture(autouse=True)
def answers(bench: Bench) -> None:
    bench.script = replies(coder=[fence(source("pass", 2.0))])


def test_a_unit_that_its_cap_stopped_is_no_success_and_goes_on_under_a_higher_one(bench: Bench) -> None:
    suite = open_suite("s", [UNIT], Options(rounds=1, max_calls=1), bench.home)
    assert run_unit(suite, UNIT, bench.home).status == "stopped_budget"
    assert read_results(suite, bench.home)[UNIT].gain is None
    assert "0 of 1 units solved" in markdown(suite, read_results(suite, bench.home))
    again = open_suite("s", [UNIT], Options(rounds=1, max_calls=1), bench.home)
    assert run_unit(again, UNIT, bench.home).status == "stopped_budget"
    assert len(bench.asked) == 1
    more = open_suite("s", [UNIT], Options(rounds=1, max_calls=99), bench.home)
    assert read_results(more, bench.home) == {}
    result = run_unit(more, UNIT, bench.home)
    assert (result.status, result.gain) == ("improved", 2.0)
    assert len(bench.asked) == 3
    fewer = open_suite("s", [UNIT], Options(rounds=1, max_calls=1), bench.home)
    assert read_results(fewer, bench.home)[UNIT] == result


def test_a_unit_whose_gpu_was_lost_is_not_done(bench: Bench) -> None:
    suite = open_suite("s", [UNIT], Options(rounds=1), bench.home)
    bench.device_there[0] = False
    assert run_unit(suite, UNIT, bench.home).status == "waiting_device"
    assert read_results(suite, bench.home) == {}
    bench.device_there[0] = True
    assert run_unit(suite, UNIT, bench.home).status == "improved"


def test_a_unit_whose_endpoint_refused_is_not_done(bench: Bench) -> None:
    working = bench.script

    def refuse(prompt: str) -> str:
        raise ModelAuthError("the endpoint refuses the key")

    bench.script = refuse
    suite = open_suite("s", [UNIT], Options(rounds=1), bench.home)
    result = run_unit(suite, UNIT, bench.home)
    assert result.status == "waiting_model"
    assert "refuses the key" in result.error
    assert read_results(suite, bench.home) == {}
    bench.script = working
    assert run_unit(suite, UNIT, bench.home).status == "improved"
