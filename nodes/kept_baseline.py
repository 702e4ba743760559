"""The verdict and the profile of a baseline, kept in the home: each run of a unit starts from the same kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .. import __version__
from ..benchmark.registry import load_task
from ..tools.device.port import DeviceInfo
from ..tools.device.runner.cache import content_key
from ..tools.records import Candidate
from .context import Context
from .state import State, Version

Answer = dict[str, Any]


class KeptBaseline:
    """What the tools answered about this kernel for this task on this device, once the answer was good."""

    def __init__(self, baseline: Version, state: State, hardware: DeviceInfo, context: Context) -> None:
        candidate = Candidate(source=context.store.text(baseline.source), spec=baseline.spec)
        where = hardware.model_copy(update={"notes": (), "rates": {}}).model_dump_json()
        task = load_task(state["task"])
        key = content_key(__version__, candidate.sha256, task.sha256, task.name, state["precision"], where)
        self._folder = context.store.folder.parent / "baselines" / key
        self._store = context.store

    def answer(self, tool: str, ask: Callable[[], Answer]) -> Answer:
        """Return the kept answer of a tool, or what `ask` gets from it, which is kept if it is good."""
        file = self._folder / tool
        try:
            kept: Answer = self._store.get_json(file.read_text())
            return kept
        except (OSError, LookupError, json.JSONDecodeError):
            answer = ask()
        if answer["status"] in ("pass", "ok"):
            self._folder.mkdir(parents=True, exist_ok=True)
            file.write_text(self._store.put_json(answer))
        return answer
