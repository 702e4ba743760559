"""`work`: what can go on by itself goes on, the rest stays as it is."""

from __future__ import annotations

import pytest
from cudamaster.graph import run
from cudamaster.graph.work import work
from cudamaster.models.errors import ModelAuthError
from cudamaster.models.mailbox import MailboxChat

from .conftest import Bench
from .fakes import fence, plan, source


def answering(prompt: str) -> str:
    from .fakes import agent_of

    return {"planner": plan("s"), "coder": fence(source("pass", 2.0)), "compiler": "{}"}[agent_of(prompt)]


def died(prompt: str) -> str:
    raise RuntimeError("power")


def statuses(bench: Bench) -> dict[str, str]:
    return {summary.run: summary.status for summary in run.list_runs(bench.home)}


def test_interrupted_and_device_runs_go_on_and_the_others_stay(bench: Bench) -> None:
    bench.script = answering
    bench.start(run_id="ended", rounds=1)
    bench.start(run_id="poor", rounds=1, max_calls=1)
    bench.device_there[0] = False
    bench.start(run_id="gpu", rounds=1, device="cuda", wait_for_device=True)
    bench.device_there[0] = True
    bench.script = died
    with pytest.raises(RuntimeError):
        bench.start(run_id="killed", rounds=1)
    bench.script = answering
    bench.model = MailboxChat()
    bench.start(run_id="asks", rounds=1, model="mailbox")
    bench.model = None

    assert work(home=bench.home, device="cuda", jobs=1)[0].run == "gpu"
    assert statuses(bench)["killed"] == "interrupted"
    told: list[str] = []
    done = work(home=bench.home, jobs=1, on_run=lambda item: told.append(item.run))
    assert [(item.run, item.status) for item in done] == [("killed", "improved")]
    assert told == ["killed"]
    assert statuses(bench) == {
        "ended": "improved",
        "poor": "stopped_budget",
        "gpu": "improved",
        "killed": "improved",
        "asks": "waiting_model",
    }
    assert work(home=bench.home, jobs=1) == []


def test_a_device_that_is_not_here_is_waited_for(bench: Bench) -> None:
    bench.script = answering
    bench.device_there[0] = False
    bench.start(run_id="gpu", rounds=1, wait_for_device=True)
    (advanced,) = work(home=bench.home, jobs=1)
    assert (advanced.status, advanced.reason) == ("waiting_device", "no device on this machine")


def test_a_run_that_is_refused_does_not_keep_the_others(bench: Bench) -> None:
    bench.script = died
    for name in ("a", "b", "c"):
        with pytest.raises(RuntimeError):
            bench.start(run_id=name, rounds=1)
    (bench.home / "runs/a/checkpoint.sqlite").write_bytes(b"no database" * 999)
    (bench.home / "runs/b/manifest.json").write_text("{")
    bench.script = answering
    done = {item.run: item for item in work(home=bench.home, jobs=1)}
    assert {name: item.status for name, item in done.items()} == {"a": "refused", "b": "refused", "c": "improved"}
    assert "damaged" in done["a"].reason
    assert "cannot be read" in done["b"].reason


def test_an_endpoint_that_refuses_is_said_for_each_run(bench: Bench) -> None:
    def refuse(prompt: str) -> str:
        raise ModelAuthError("the endpoint refuses the key")

    bench.script = died
    with pytest.raises(RuntimeError):
        bench.start(run_id="a", rounds=1)
    bench.script = refuse
    (advanced,) = work(home=bench.home, jobs=1)
    assert (advanced.status, "refuses the key" in advanced.reason) == ("refused", True)
