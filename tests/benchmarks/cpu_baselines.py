"""How long the cpu device takes for all 100 baselines: `python -m cudamaster.tests.benchmarks.cpu_baselines`.

Prints seconds to build and verify all at their small sizes, then to build for tracing and trace one small case each,
with an empty cache, on all cores; and every verdict or finding that is not as it should be.
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.registry import load_task, task_names
from cudamaster.benchmark.task import CaseSet
from cudamaster.tools.device.cpu.device import CpuDevice
from cudamaster.tools.judge.verify import verify
from cudamaster.tools.records import Candidate, Status

UNITS = [(name, precision) for name in task_names() for precision in Precision]


def verified(name: str, precision: Precision, root: Path) -> str:
    """Build and verify one baseline; return what was wrong, empty if nothing was."""
    task, device = load_task(name), CpuDevice(use_nvcc=False, root=root)
    build = device.build(Candidate(source=task.source(precision)), task, precision)
    if not build.ok:
        return build.log[-300:]
    verdict = verify(build, task, precision, device, cases=task.in_set(CaseSet.SMALL))
    return "" if verdict.status is Status.PASS else verdict.summary


def traced(name: str, precision: Precision, root: Path) -> str:
    """Trace one call of a baseline at its largest small case; return the findings."""
    task, device = load_task(name), CpuDevice(use_nvcc=False, root=root)
    build = device.build(Candidate(source=task.source(precision)), task, precision)
    case = max(task.in_set(CaseSet.SMALL), key=lambda c: task.complexity(c.sizes))
    return "; ".join(f"{e.case}: {e.reason}" for e in device.sanitize(build, task, precision, [case]))


def main() -> None:
    """Run both parts and print their times."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(os.cpu_count()) as pool:
        for part in (verified, traced):
            began = time.perf_counter()
            faults = list(pool.map(part, *zip(*UNITS, strict=True), [Path(folder)] * len(UNITS)))
            took = time.perf_counter() - began
            print(f"{part.__name__}: {len(UNITS)} baselines in {took:.0f} s on {os.cpu_count()} cores")
            for (name, precision), fault in zip(UNITS, faults, strict=True):
                if fault:
                    print(f"  {name}-{precision}: {fault}")


if __name__ == "__main__":
    main()
