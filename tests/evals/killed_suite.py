"""A process to be killed: twelve suites of one unit on fakes, in the local pool."""

from __future__ import annotations

import sys
from pathlib import Path

from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.task import Unit
from cudamaster.evals import bench as module
from cudamaster.evals.suite import Suite, open_suite
from cudamaster.graph.pool import Pool
from cudamaster.nodes.context import Options
from cudamaster.tests.evals.cluster_units import on_fakes

UNIT = Unit(task="dot_product", precision=Precision.FP32)


def suites(home: Path) -> list[Suite]:
    return [open_suite(f"s{number}", [UNIT], Options(rounds=3, stop_efficiency=None), home) for number in range(12)]


if __name__ == "__main__":
    where = Path(sys.argv[1])
    module.work = on_fakes
    module.bench(suites(where), Pool(2), where)
