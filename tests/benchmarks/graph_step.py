"""What a graph step costs beside its work: `python tests/benchmarks/graph_step.py`. Prints JSON; not a test.

Runs the loop on fakes (no toolchain, no model) and takes the time outside the nodes: routing, checkpoint, trace.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from cudamaster.graph import run
from cudamaster.nodes.context import Options
from cudamaster.tests.graph.fakes import FakeContext, fence, replies, source


def main(rounds: int = 20) -> None:
    """Print milliseconds per step, outside and inside the nodes, and the size of the checkpoints."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        script = replies(coder=[fence(source("pass", 2.0 + number)) for number in range(rounds)])
        run.context_of = lambda manifest, _: FakeContext(  # type: ignore[assignment]
            home=folder, run_id=manifest.run_id, script=script, **dict(manifest.options)
        )
        steps: list[run.Step] = []
        began = time.perf_counter()
        run.start("dot_product", "fp32", Options(rounds=rounds), run_id="r", home=home, on_step=steps.append)
        wall = time.perf_counter() - began
        inside = sum(step.seconds for step in steps if step.event == "end")
        count = sum(step.event == "start" for step in steps)
        figures = {
            "steps": count,
            "overhead_ms_per_step": round(1000 * (wall - inside) / count, 2),
            "node_ms_per_step": round(1000 * inside / count, 2),
            "checkpoint_kb": round((home / "runs/r/checkpoint.sqlite").stat().st_size / 1000, 1),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
