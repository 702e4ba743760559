"""`from cudamaster import …`: lazy, typed, and the same as the command line."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import cudamaster
import pytest
from cudamaster.graph import api, run
from cudamaster.graph.errors import NoSuchRound, RunError, RunExists, UnknownNode
from cudamaster.graph.manifest import read_manifest
from cudamaster.models.errors import ModelConfigError
from cudamaster.models.factory import chat_model
from cudamaster.models.offline import OfflineChat
from cudamaster.nodes.context import Context
from cudamaster.nodes.planner import planner
from cudamaster.tools.result.summary import Summary

from .graph.conftest import Bench
from .graph.fakes import FakeDevice, fence, replies, source


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(
        tmp_path,
        replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0)), fence(source("pass", 4.0))]),
    )
    monkeypatch.setattr(run, "context_of", made.context)
    monkeypatch.setattr(api, "get_device", lambda name: FakeDevice())
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path))
    return made


def test_importing_the_package_imports_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules); import cudamaster\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names\n"
        "print(sorted(names), [name for name in sys.modules if name.startswith('cudamaster.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['cudamaster'] []"


def test_the_public_names_are_there_and_no_others() -> None:
    assert cudamaster.load_task("dot_product").name == "dot_product"
    assert cudamaster.build_graph().name == "cudamaster"
    for name in cudamaster.__all__:
        assert callable(getattr(cudamaster, name))
        assert getattr(cudamaster, name).__doc__
    assert set(cudamaster.__all__) <= set(dir(cudamaster))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = cudamaster.optimise  # type: ignore[attr-defined]


def test_optimize_and_resume_from_python(bench: Bench, tmp_path: Path) -> None:
    summary = cudamaster.optimize("dot_product", home=tmp_path, max_calls=3, run_id="a", rounds=2)
    assert summary.status == "stopped_budget"
    summary = cudamaster.resume("a", home=tmp_path, max_calls=6)
    assert (summary.status, summary.best is not None) == ("improved", True)
    with pytest.raises(RunError, match="unknown option 'round'"):
        cudamaster.optimize("dot_product", home=tmp_path, round=1)
    with pytest.raises(RunError, match="option rounds"):
        cudamaster.optimize("dot_product", home=tmp_path, rounds=0)
    with pytest.raises(RunError, match="unknown precision 'fp64': there is fp32, bf16"):
        cudamaster.optimize("dot_product", home=tmp_path, precision="fp64")  # type: ignore[arg-type]
    with pytest.raises(RunError, match="unknown checkpoints 'redis': there is sqlite, postgres"):
        cudamaster.optimize("dot_product", home=tmp_path, checkpoints="redis")  # type: ignore[arg-type]
    with pytest.raises(RunError, match="unknown stream mode 'update'"):
        cudamaster.stream("dot_product", home=tmp_path, stream_mode="update")  # type: ignore[arg-type]
    assert cudamaster.optimize("dot_product", home=tmp_path, run_id="b", max_calls=0).status == "stopped_budget"
    with pytest.raises(RunError, match="option "):
        cudamaster.resume("b", home=tmp_path, max_calls=-1)
    with pytest.raises(RunError, match="unknown option 'max_call'"):
        cudamaster.resume("b", home=tmp_path, max_call=9)


def test_a_run_is_streamed_in_langgraphs_modes_and_ends_with_its_summary(bench: Bench) -> None:
    events = list(cudamaster.stream("dot_product", stream_mode=["updates", "values"], run_id="s", rounds=1))
    assert {mode for mode, _ in events} == {"updates", "values", "summary"}
    updates = [next(iter(event)) for mode, event in events if mode == "updates"]
    assert updates == ["prepare", "planner", "coder", "compiler", "build", "run", "profiler", "recorder", "finisher"]
    assert events[-1][0] == "summary"
    assert events[-1][1].status == "improved"
    with pytest.raises(RunError, match="exists"):
        list(cudamaster.stream("dot_product", run_id="s"))


def test_leaving_a_stream_keeps_the_run(bench: Bench) -> None:
    for _, event in cudamaster.stream("dot_product", run_id="s", rounds=2):
        if "coder" in event:
            break
    assert cudamaster.look("s").status == "interrupted"
    *_, (mode, summary) = cudamaster.stream_resume("s")
    assert (mode, summary.status, summary.rounds) == ("summary", "improved", 2)
    assert bench.asked.count(next(p for p in bench.asked if "planner" in p.lower())) == 1


async def test_runs_do_not_block_the_event_loop(bench: Bench) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    summary = await cudamaster.aoptimize("dot_product", run_id="a", rounds=1)
    ticking.cancel()
    assert isinstance(summary, Summary)
    assert summary.status == "improved"
    assert ticks > 0
    modes = [mode async for mode, _ in cudamaster.astream("dot_product", run_id="b", rounds=1)]
    assert modes[-1] == "summary"


async def test_a_cancelled_run_stops_between_two_steps_and_goes_on_later(bench: Bench) -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_step(step: run.Step) -> None:
        if step.node == "coder":
            loop.call_soon_threadsafe(began.set)

    task = asyncio.create_task(cudamaster.aoptimize("dot_product", run_id="a", rounds=3, on_step=on_step))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    summary = await cudamaster.aresume("a")
    assert (summary.status, summary.rounds) == ("improved", 3)


def test_a_fork_goes_on_from_the_end_of_a_round_with_other_options(bench: Bench) -> None:
    first = cudamaster.optimize("dot_product", run_id="a", rounds=3)
    assert first.rounds == 3
    told = [(p.round, p.value) for p in cudamaster.points("a")]
    assert told[:2] == [(1, 2.0), (2, 3.0)]
    bench.script = replies(coder=[fence(source("pass", 8.0))])
    assert cudamaster.fork("a", after_round=1, new_run="b", rounds=2) == "b"
    second = cudamaster.resume("b")
    assert (second.status, second.rounds) == ("improved", 2)
    assert second.gain is not None
    assert second.gain.value == pytest.approx(8.0)
    assert read_manifest("b").forked_from == "a@1"
    assert cudamaster.look("a").gain == first.gain
    with pytest.raises(NoSuchRound, match="round 7"):
        cudamaster.fork("a", after_round=7)
    with pytest.raises(RunExists, match="'b' exists"):
        cudamaster.fork("a", after_round=1, new_run="b")
    with pytest.raises(RunError, match="option "):
        cudamaster.fork("a", after_round=1, new_run="c", rounds=0)
    with pytest.raises(RunError, match="unknown option 'round'"):
        cudamaster.fork("a", after_round=1, new_run="c", round=1)


def test_a_node_can_be_replaced(bench: Bench) -> None:
    seen = []

    def watched(state: Any, runtime: Any) -> Any:
        seen.append(state["round"])
        return planner(state, runtime)

    assert cudamaster.optimize("dot_product", run_id="a", rounds=2, nodes={"planner": watched}).status == "improved"
    assert seen == [1, 2]
    with pytest.raises(UnknownNode, match="no node 'planer'"):
        cudamaster.build_graph(nodes={"planer": watched})


def test_a_chat_model_can_be_given_and_must_be_given_again(bench: Bench) -> None:
    mine = OfflineChat()
    context = Context().with_chat_models({"coder": mine})
    assert context.chat_model("coder") is mine
    assert context.chat_model("planner") is not mine
    summary = cudamaster.optimize("dot_product", run_id="a", rounds=1, model=mine, models={"planner": "offline"})
    assert summary.model == "python:OfflineChat"
    assert read_manifest("a").options.models == {"planner": "offline"}
    with pytest.raises(ModelConfigError, match="give it to `resume` again"):
        chat_model("python:OfflineChat")
    with pytest.raises(RunError, match="unknown agent 'critic'"):
        cudamaster.optimize("dot_product", models={"critic": mine})
