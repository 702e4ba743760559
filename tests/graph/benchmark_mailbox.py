"""How long it takes to export, check and take in many answers: `python -m cudamaster.tests.graph.benchmark_mailbox`.

The runs are begun on fakes; export and import are the command line's, in processes of their own. An answered plan leads
to the next question with no tool in between, so all that is measured is overhead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cudamaster.graph import run
from cudamaster.models.mailbox import MailboxChat
from cudamaster.nodes.context import Options
from cudamaster.tests.graph.fakes import FakeContext, plan


def main(count: int, jobs: int) -> None:
    """Print seconds and peak memory for `count` open questions."""
    with tempfile.TemporaryDirectory() as folder:
        home, exported, filled = (Path(folder, name) for name in ("home", "questions.jsonl", "answers.jsonl"))
        model = MailboxChat()
        run.context_of = lambda manifest, home=None: FakeContext(
            home=str(home), run_id=manifest.run_id, script=str, fake_model=model, **dict(manifest.options)
        )
        for number in range(count):
            run.start("dot_product", "fp32", Options(model="mailbox", rounds=1), run_id=f"r{number}", home=home)
        export_s, export_mib = _measure(["mailbox", "export", "--home", str(home), "--out", str(exported)])
        rows = [json.loads(line) for line in exported.read_text().splitlines()]
        filled.write_text("".join(json.dumps({"id": row["id"], "text": plan("s")}) + "\n" for row in rows))
        command = ["mailbox", "import", str(filled), "--home", str(home), "--jobs", str(jobs), "--json"]
        import_s, import_mib = _measure(command)
        told = {summary.status for summary in run.list_runs(home)}
        told |= {question.agent for summary in run.list_runs(home) for question in summary.questions}
        assert told == {"waiting_model", "coder"}, told
        print(f"{len(rows)} questions, {jobs} jobs on {len(os.sched_getaffinity(0))} cores")
        print(f"export: {export_s:.1f} s, {export_mib:.0f} MiB; import: {import_s:.1f} s, {import_mib:.0f} MiB")


def _measure(arguments: list[str]) -> tuple[float, float]:
    """Run the command line; return seconds and the most MiB that it and its processes held together."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", "from cudamaster.cli import main; main()", *arguments], stdout=-3)
    peak = [0.0]

    def watch() -> None:
        while process.poll() is None:
            peak[0] = max(peak[0], _tree_mib(process.pid))
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.wait() == 0
    watcher.join()
    return time.monotonic() - began, peak[0]


def _tree_mib(pid: int) -> float:
    """Return the resident memory of a process and its children (what they share is counted for each)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    own = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0) / 1024
    return own + sum(_tree_mib(int(child)) for child in children)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
