from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cudamaster.graph import run
from cudamaster.graph.manifest import Manifest
from cudamaster.nodes.context import Options
from cudamaster.tools.result.summary import Summary
from langgraph.checkpoint.memory import InMemorySaver

from .fakes import FakeContext


@dataclass
class Bench:
    """Starts and resumes runs on fakes, each time with a context built anew, as a new process would."""

    home: Path
    script: Callable[[str], str] = lambda prompt: ""
    faults: dict[str, list[str]] = field(default_factory=dict)
    tool_calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    device_there: list[bool] = field(default_factory=lambda: [True])
    steps: list[run.Step] = field(default_factory=list)
    model: Any = None

    def context(self, manifest: Manifest, home: Path | None = None) -> FakeContext:
        def script(prompt: str) -> str:
            self.asked.append(prompt)
            return self.script(prompt)

        fakes = {"script": script, "fake_model": self.model}
        context = FakeContext(
            home=str(self.home),
            run_id=manifest.run_id,
            device_there=self.device_there,
            **fakes,
            **dict(manifest.options),
        )
        # pydantic copies lists; the test wants to see what happens in its own
        object.__setattr__(context, "device_there", self.device_there)
        object.__setattr__(context, "faults", self.faults)
        object.__setattr__(context, "tool_calls", self.tool_calls)
        return context

    def start(self, task: str = "dot_product", precision: str = "fp32", **options: Any) -> Summary:
        extra = {k: options.pop(k) for k in ("source", "run_id", "wait_for_device", "control") if k in options}
        extra.setdefault("run_id", "r")
        return run.start(task, precision, Options(**options), home=self.home, on_step=self.steps.append, **extra)

    def resume(self, run_id: str = "r", **changes: Any) -> Summary:
        return run.resume(run_id, home=self.home, changes=changes, on_step=self.steps.append)

    def answer(self, question: str, reply: Any, run_id: str = "r") -> Summary:
        return run.answer(run_id, question, reply, home=self.home, on_step=self.steps.append)

    def path(self) -> list[str]:
        """Return the nodes that have started, in order."""
        return [step.node for step in self.steps if step.event == "start"]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(tmp_path / "home")
    monkeypatch.setattr(run, "context_of", made.context)
    return made


@pytest.fixture(params=["sqlite", "memory"])
def saver_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Keep checkpoints in the run's SQLite file, or in memory."""
    if request.param == "memory":
        savers: dict[Path, InMemorySaver] = {}

        @contextmanager
        def in_memory(folder: Path, *, kind: str = "") -> Iterator[InMemorySaver]:
            yield savers.setdefault(folder, InMemorySaver())

        monkeypatch.setattr(run, "open_checkpoints", in_memory)
    return str(request.param)
