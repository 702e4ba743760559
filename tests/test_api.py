"""`from cudamaster import …`: lazy, typed, and the same as the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cudamaster
import pytest
from cudamaster.graph import api, run
from cudamaster.graph.errors import RunError

from .graph.conftest import Bench
from .graph.fakes import FakeDevice, fence, replies, source


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
    assert {"optimize", "resume", "build_graph", "load_task"} <= set(dir(cudamaster))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = cudamaster.optimise  # type: ignore[attr-defined]


def test_optimize_and_resume_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path, replies(coder=[fence(source("pass", 2.0)), fence(source("pass", 3.0))]))
    monkeypatch.setattr(run, "context_of", bench.context)
    monkeypatch.setattr(api, "get_device", lambda name: FakeDevice())
    summary = cudamaster.optimize("dot_product", home=tmp_path, max_calls=3, run_id="a", rounds=2)
    assert summary.status == "stopped_budget"
    summary = cudamaster.resume("a", home=tmp_path, max_calls=6)
    assert (summary.status, summary.best is not None) == ("improved", True)
    with pytest.raises(RunError, match="unknown option 'round'"):
        cudamaster.optimize("dot_product", home=tmp_path, round=1)
    with pytest.raises(RunError, match="option rounds"):
        cudamaster.optimize("dot_product", home=tmp_path, rounds=0)
    assert cudamaster.optimize("dot_product", home=tmp_path, run_id="b", max_calls=0).status == "stopped_budget"
    with pytest.raises(RunError, match="options of run"):
        cudamaster.resume("b", home=tmp_path, max_calls=-1)
