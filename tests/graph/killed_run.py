"""A process to be killed: starts or resumes one run on fakes that take a little time, and counts the model's calls."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

from cudamaster.graph import run
from cudamaster.nodes.context import Options

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("fakes", HERE / "fakes.py")
assert spec is not None
assert spec.loader is not None
fakes = importlib.util.module_from_spec(spec)
sys.modules["fakes"] = fakes
spec.loader.exec_module(fakes)


def script(calls: Path) -> Any:
    """Answer by what the prompt says alone, so that every process answers alike; log each call before its answer."""

    def answer(prompt: str) -> str:
        with open(calls, "a") as file:
            file.write(hashlib.sha256(prompt.encode()).hexdigest() + "\n")
        time.sleep(0.01)
        agent = fakes.agent_of(prompt)
        round_number = int(prompt.partition(", round ")[2].partition(" of ")[0])
        if agent == "planner":
            return str(fakes.plan(f"strategy_{round_number}"))
        if agent == "compiler":
            return "{}"
        if agent == "coder":
            return str(fakes.fence(fakes.source("wrong" if round_number == 2 else "pass", 1.0 + round_number)))
        return "Diagnosis: off by one\n" + str(fakes.fence(fakes.source("pass", 1.5 + round_number)))

    return answer


def main(home: Path, calls: Path) -> None:
    """Advance the run `r` to its end and print its summary."""

    def context(manifest: Any, _: Any = None) -> Any:
        options = dict(manifest.options)
        return fakes.FakeContext(home=str(home), run_id=manifest.run_id, script=script(calls), **options)

    run.context_of = context
    if (home / "runs/r/manifest.json").exists():
        summary = run.resume("r", home=home)
    else:
        summary = run.start("dot_product", "fp32", Options(rounds=4), run_id="r", home=home)
    print(json.dumps(summary.model_dump(mode="json")))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
