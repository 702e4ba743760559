"""A process to be killed: advances all runs of a home to their ends, over HTTP and through the mailbox.

It answers its own questions, each time in other words, so that an answer that is used twice, or not at all, is seen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from cudamaster.graph import run
from cudamaster.graph.errors import RunBusy, RunExists
from cudamaster.graph.import_answers import import_answers
from cudamaster.graph.questions import open_questions
from cudamaster.graph.work import work
from cudamaster.nodes.context import Context, Options
from cudamaster.tests.graph.fakes import FakeContext, fence, plan, source
from langchain_core.language_models import BaseChatModel


class HomeContext(FakeContext):
    """Fake tools and device, real models."""

    def chat_model(self, agent: Any) -> BaseChatModel:
        return Context.chat_model(self, agent)


def context(manifest: Any, home: Path | None = None) -> HomeContext:
    return HomeContext(home=str(home), run_id=manifest.run_id, script=str, **dict(manifest.options))


def answer(agent: str, words: str) -> str:
    """Return an answer that can be known by its words."""
    return {"planner": plan(words), "coder": fence(source("pass", 2.0, words)), "compiler": "{}"}[agent]


def main(home: Path, url: str, runs: list[str]) -> None:
    """Go on until every run has ended. A run whose name begins with `http` asks the endpoint at `url`."""
    run.context_of = context
    count = 0
    while True:
        for name in runs:
            if not (home / "runs" / name / "manifest.json").exists():
                model = f"openai:{name}" if name.startswith("http") else "mailbox"
                with suppress(RunBusy, RunExists):
                    options = Options(model=model, base_url=url if model != "mailbox" else None, rounds=1)
                    run.start("dot_product", "fp32", options, run_id=name, home=home)
        work(home=home, jobs=1)
        rows = []
        for question in open_questions(home):
            count += 1
            words = f"w{os.getpid()}n{count}"
            rows.append({"id": question.key, "text": answer(question.agent, words), "model": words})
        if rows:
            import_answers("".join(json.dumps(row) + "\n" for row in rows), home=home, jobs=1)
        elif all(summary.status in run.TERMINAL for summary in run.list_runs(home)):
            return
        else:
            time.sleep(0.05)  # another process has them


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
