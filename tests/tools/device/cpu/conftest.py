from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cudamaster.tools.device.cpu.build import host_build, trace_library
from cudamaster.tools.device.cpu.toolchain import runtime_library
from cudamaster.tools.records import Build, Candidate

HERE = Path(__file__).parent


def f32(n: int) -> Any:
    """An output of n floats."""
    import numpy as np

    return np.zeros(n, np.float32)


def i32(n: int) -> Any:
    """An output of n ints."""
    import numpy as np

    return np.zeros(n, np.int32)


def draw(n: int, seed: int) -> Any:
    """n floats in [-1, 1)."""
    import numpy as np

    return np.random.default_rng(seed).uniform(-1, 1, n).astype(np.float32)


class Host:
    """Builds sources whose entries have any signature, and calls them in a child process."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def build(self, source: str, entries: Sequence[str]) -> Build:
        """Compile without nvcc; the entries are exported."""
        return host_build(Candidate(source=source), entries, checked=None, root=self.root)

    def call(self, calls: Sequence[dict[str, Any]], **environment: str) -> list[dict[str, Any]]:
        """Run the calls in one child process."""
        job = self.root / "job.json"
        job.write_text(json.dumps({"runtime": str(runtime_library(self.root)), "calls": list(calls)}))
        done = subprocess.run(
            [sys.executable, str(HERE / "harness.py"), str(job)],
            capture_output=True, text=True, timeout=900, env={"PATH": "/usr/bin:/bin", **environment},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        results: list[dict[str, Any]] = json.loads(done.stdout)
        return results

    def run(self, calls: Sequence[tuple[str, str, list[Any]]], **environment: str) -> list[dict[str, Any]]:
        """Call (library, entry, arguments); arrays travel as files. Zeroed arrays and ("inout", array) come back."""
        import numpy as np

        jobs = []
        for number, (library, entry, arguments) in enumerate(calls):
            listed: list[Any] = []
            for place, argument in enumerate(arguments):
                if isinstance(argument, int | float):
                    listed.append(argument)
                    continue
                array = argument[1] if isinstance(argument, tuple) else argument
                path = self.root / f"in-{number}-{place}.npy"
                np.save(path, array)
                listed.append({"file": str(path), "out": isinstance(argument, tuple) or not np.any(array)})
            keep = self.root / f"out-{number}"
            keep.mkdir(exist_ok=True)
            jobs.append({"library": library, "entry": entry, "arguments": listed, "keep": str(keep)})
        results = self.call(jobs, **environment)
        for result in results:
            result["outputs"] = [np.load(path) for path in result["outputs"]]
        return results

    def trace(self, build: Build) -> Path:
        """Return the instrumented library."""
        return trace_library(build, self.root)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(tmp_path_factory.mktemp("cpu"))
