"""Units for a cluster's workers, in a module that they can import: small ones, and runs on fakes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from cudamaster.benchmark.task import Unit
from cudamaster.evals import unit as evals_unit
from cudamaster.evals.suite import Suite, UnitResult, write_result
from cudamaster.graph import run
from cudamaster.tests.graph.fakes import FakeContext, agent_of, fence, plan, source
from langgraph.runtime import RunControl

LOST = "t050"
"""The task of the unit that is in flight when its node is killed."""


def rss_kib() -> int:
    """Return the resident memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def note(home: Path, *words: object) -> None:
    """Append a line to the log of the home, in one write."""
    with open(home / "log", "ab", buffering=0) as file:
        file.write(" ".join(map(str, words)).encode() + b"\n")


def wait_to_be_killed(mark: Path) -> None:
    """Say who is here, and wait; the second who comes goes on."""
    if mark.exists():
        return
    mark.with_suffix(".part").write_text(str(os.getpid()))
    mark.with_suffix(".part").rename(mark)
    time.sleep(120)


def small(suite: Suite, unit: Unit, home: Path, control: RunControl | None = None) -> UnitResult:
    """Do next to nothing, and write a result."""
    note(home, "begin", unit.task, os.getpid(), rss_kib())
    if unit.task == LOST:
        wait_to_be_killed(home / "mark")
    result = UnitResult(unit=unit, run=f"{suite.id}.{unit.name}", status="no_gain")
    write_result(suite, result, home)
    note(home, "end", unit.task, os.getpid(), rss_kib())
    return result


def on_fakes(suite: Suite, unit: Unit, home: Path, control: RunControl | None = None) -> UnitResult | None:
    """Do a whole run on fakes; the Coder of suite `s2` waits to be killed in its second round."""

    def script(prompt: str) -> str:
        agent = agent_of(prompt)
        second = "round 2 of" in prompt
        note(home, "asked", suite.id, agent, 2 if second else 1)
        if suite.id == "s2" and agent == "compiler" and (home / "armed").exists():
            wait_to_be_killed(home / "mark")
        return {"planner": plan("s"), "coder": fence(source("pass", 2.0)), "compiler": "{}"}[agent]

    def context(manifest: Any, home: Path | None = None) -> FakeContext:
        return FakeContext(home=str(home), run_id=manifest.run_id, script=script, **dict(manifest.options))

    run.context_of = context
    return evals_unit.work(suite, unit, home, control)
